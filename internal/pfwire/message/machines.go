package message

import "github.com/weft-trace/weft/internal/schema"

// SystemInfo decodes the machine name in a SystemInfo message.
type SystemInfo struct{ fields }

// Parse decodes msg.
func (s *SystemInfo) Parse(msg []byte) error { return s.parse(msg, schema.MessageSystemInfo) }

func (s *SystemInfo) MachineName() []byte { return s.bytes(schema.SystemInfo_MachineName) }

// HasMore reports whether there are other fields.
func (s *SystemInfo) HasMore() bool { return len(s.beyond(1<<schema.SystemInfo_MachineName)) > 0 }

// RemoteClockSync decodes a RemoteClockSync message.
type RemoteClockSync struct{ fields }

// Parse decodes msg.
func (s *RemoteClockSync) Parse(msg []byte) error { return s.parse(msg, schema.MessageRemoteClockSync) }

// Rounds returns a list of encoded SyncedClocks.
func (s *RemoteClockSync) Rounds() List { return s.list(schema.RemoteClockSync_SyncedClocks) }

// SyncedClocks decodes a RemoteClockSync.SyncedClocks message: a ClockSnapshot of a machine, and a later ClockSnapshot of the
// host.
type SyncedClocks struct{ Client, Host []byte }

// Parse decodes msg.
func (s *SyncedClocks) Parse(msg []byte) error {
	var f fields
	err := f.parse(msg, schema.MessageRemoteClockSyncSyncedClocks)
	s.Client, s.Host = f.bytes(schema.RemoteClockSyncSyncedClocks_ClientClocks), f.bytes(schema.RemoteClockSyncSyncedClocks_HostClocks)
	return err
}
