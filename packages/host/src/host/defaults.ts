/** What holds where the options of a host do not say otherwise. */
export const defaults = {
  connectTimeoutMs: 8_000,
  callTimeoutMs: 60_000,
  idlePingMs: 60_000,
  info: { name: 'jackfield', version: '0.1.0', title: 'Jackfield' },
}
