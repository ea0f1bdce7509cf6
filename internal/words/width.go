package words

// This file measures texts in terminal columns, so that tables are aligned in any script. Chinese, Japanese and Korean characters
// and emoji occupy two columns; combining marks occupy none.
//
// The widths follow Unicode's East_Asian_Width property (UAX #11): W and F are wide. Characters of ambiguous width are narrow, as
// in terminals outside East Asian locales. Features on which terminals disagree are not modelled: emoji that are joined into one
// picture count separately.

import (
	"strings"
	"unicode"
)

// Width returns the number of columns that a text occupies.
func Width(text string) int {
	n := 0
	for _, r := range text {
		n += ofRune(r)
	}
	return n
}

// PadRight pads a text with trailing blanks to a number of columns.
func PadRight(text string, columns int) string { return text + blanks(columns-Width(text)) }

// PadLeft pads a text with leading blanks to a number of columns.
func PadLeft(text string, columns int) string { return blanks(columns-Width(text)) + text }

func blanks(n int) string { return strings.Repeat(" ", max(n, 0)) }

const softHyphen = '\u00AD' // a format character that terminals show

func ofRune(r rune) int {
	switch {
	case r < 0x300:
		return 1 // fast path for nearly all characters
	case unicode.In(r, unicode.Mn, unicode.Me), unicode.Is(unicode.Cf, r) && r != softHyphen, medialJamo(r):
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}

// medialJamo reports whether r is a vowel or final consonant that joins the preceding Hangul syllable.
func medialJamo(r rune) bool { return 0x1160 <= r && r <= 0x11FF }

// wide contains the characters whose East_Asian_Width is W or F. Blocks of one script or of emoji count as a whole, including
// characters that later Unicode versions may add to them.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x1100, 0x115F, 1}, // initial Hangul consonants
		{0x231A, 0x231B, 1},
		{0x2329, 0x232A, 1},
		{0x23E9, 0x23EC, 1},
		{0x23F0, 0x23F3, 3},
		{0x25FD, 0x25FE, 1},
		{0x2614, 0x2615, 1},
		{0x2648, 0x2653, 1},
		{0x267F, 0x2693, 20},
		{0x26A1, 0x26AA, 9},
		{0x26AB, 0x26BD, 18},
		{0x26BE, 0x26C4, 6},
		{0x26C5, 0x26CE, 9},
		{0x26D4, 0x26EA, 22},
		{0x26F2, 0x26F3, 1},
		{0x26F5, 0x26FA, 5},
		{0x26FD, 0x2705, 8},
		{0x270A, 0x270B, 1},
		{0x2728, 0x274C, 36},
		{0x274E, 0x274E, 1},
		{0x2753, 0x2755, 1},
		{0x2757, 0x2757, 1},
		{0x2795, 0x2797, 1},
		{0x27B0, 0x27BF, 15},
		{0x2B1B, 0x2B1C, 1},
		{0x2B50, 0x2B55, 5},
		{0x2E80, 0x303E, 1}, // radicals, punctuation
		{0x3041, 0x3247, 1}, // kana, Bopomofo, enclosed letters
		{0x3250, 0x4DBF, 1},
		{0x4E00, 0xA4CF, 1}, // ideographs, Yi
		{0xA960, 0xA97F, 1},
		{0xAC00, 0xD7A3, 1}, // Hangul syllables
		{0xF900, 0xFAFF, 1},
		{0xFE10, 0xFE19, 1},
		{0xFE30, 0xFE6F, 1},
		{0xFF01, 0xFF60, 1}, // fullwidth forms
		{0xFFE0, 0xFFE6, 1},
	},
	R32: []unicode.Range32{
		{0x16FE0, 0x18D7F, 1}, // Tangut, Khitan
		{0x1AFF0, 0x1B2FF, 1}, // more kana, Nüshu
		{0x1F004, 0x1F0CF, 203},
		{0x1F18E, 0x1F18E, 1},
		{0x1F191, 0x1F19A, 1},
		{0x1F200, 0x1F265, 1},
		{0x1F300, 0x1F320, 1},
		{0x1F32D, 0x1F335, 1},
		{0x1F337, 0x1F37C, 1},
		{0x1F37E, 0x1F393, 1},
		{0x1F3A0, 0x1F3CA, 1},
		{0x1F3CF, 0x1F3D3, 1},
		{0x1F3E0, 0x1F3F0, 1},
		{0x1F3F4, 0x1F3F4, 1},
		{0x1F3F8, 0x1F43E, 1},
		{0x1F440, 0x1F440, 1},
		{0x1F442, 0x1F4FC, 1},
		{0x1F4FF, 0x1F53D, 1},
		{0x1F54B, 0x1F54E, 1},
		{0x1F550, 0x1F567, 1},
		{0x1F57A, 0x1F57A, 1},
		{0x1F595, 0x1F596, 1},
		{0x1F5A4, 0x1F5A4, 1},
		{0x1F5FB, 0x1F64F, 1}, // emoji
		{0x1F680, 0x1F6C5, 1},
		{0x1F6CC, 0x1F6CC, 1},
		{0x1F6D0, 0x1F6D2, 1},
		{0x1F6D5, 0x1F6DF, 1},
		{0x1F6EB, 0x1F6EC, 1},
		{0x1F6F4, 0x1F6FC, 1},
		{0x1F7E0, 0x1F7EB, 1},
		{0x1F7F0, 0x1F7F0, 1},
		{0x1F90C, 0x1F93A, 1},
		{0x1F93C, 0x1F945, 1},
		{0x1F947, 0x1F9FF, 1},
		{0x1FA70, 0x1FAFF, 1},
		{0x20000, 0x2FFFD, 1}, // more ideographs
		{0x30000, 0x3FFFD, 1},
	},
}
