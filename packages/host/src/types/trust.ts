/** Something about a server that a person should look at before trusting it. */
export interface TrustFinding {
  severity: 'notice' | 'warning' | 'danger'
  /** What kind of thing it is: `hidden-characters`, `speaks-to-the-model`, `shadows-a-tool`, `sudo` and so on. */
  code: string
  /** Where: `tools.read_file.description`, `command`. */
  at: string
  /** One sentence for a person: what it is and why it matters. */
  message: string
}

/** One thing that a server says about itself and that changed since it was agreed to. */
export interface DefinitionChange {
  kind: 'added' | 'changed' | 'removed' | 'renamed'
  what: 'tool' | 'prompt' | 'resource' | 'template' | 'instructions' | 'command'
  name: string
  /** Which part: `description`, `inputSchema`. Absent where all of it is new or gone. */
  field?: string
  before?: string
  after?: string
}
