package main

import (
	_ "embed"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/internal/words"
)

// The scripts by which shells call weft for completion. All logic is in complete.go.
var (
	//go:embed completion/weft.bash
	bashCompletion string
	//go:embed completion/weft.zsh
	zshCompletion string
	//go:embed completion/weft.fish
	fishCompletion string
	//go:embed completion/weft.ps1
	powershellCompletion string
)

// shells returns the names of the shells that have a script.
func shells() []string { return []string{"bash", "zsh", "fish", "powershell"} }

func completionScript(shell string) (script string, ok bool) {
	switch shell {
	case "bash":
		return bashCompletion, true
	case "zsh":
		return zshCompletion, true
	case "fish":
		return fishCompletion, true
	case "powershell":
		return powershellCompletion, true
	}
	return "", false
}

func completionCommand(env *environment) *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "print a script that completes commands, flags, values and files in a shell",
		UsageText: "weft completion [flags] SHELL",
		Description: `Prints the script for bash, zsh, fish or powershell. To use it in every new shell:

   bash         echo 'source <(weft completion bash)' >> ~/.bashrc
   zsh          echo 'source <(weft completion zsh)' >> ~/.zshrc  (after compinit)
   fish         weft completion fish > ~/.config/fish/completions/weft.fish
   powershell   Add-Content $PROFILE 'weft completion powershell | Out-String | Invoke-Expression'`,
		Action: func(c *cli.Context) error {
			script, ok := completionScript(c.Args().First())
			switch {
			case c.NArg() == 0:
				return usagef("no shell; use %s", words.List(shells()))
			case c.NArg() > 1:
				return usagef("completion takes one shell, not %d", c.NArg())
			case !ok:
				return &usageError{Message: words.Unknown("shell", c.Args().First(), shells()).Error()}
			}
			_, err := io.WriteString(env.stdout, script)
			return err
		},
	}
}

func versionCommand(env *environment) *cli.Command {
	return &cli.Command{
		Name:      "version",
		Usage:     "print the version",
		UsageText: "weft version [flags]",
		Action: func(c *cli.Context) error {
			if c.NArg() > 0 {
				return usagef("version takes no argument")
			}
			_, err := io.WriteString(env.stdout, "weft version "+version()+"\n")
			return err
		},
	}
}
