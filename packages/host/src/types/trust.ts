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
  /**
   * Which part: `description`, `inputSchema.properties.path.description`. Absent where all of it is new or gone, and
   * where only the name is another one.
   */
  field?: string
  /** As it was: a text as it is, anything else as JSON. The old name where it was renamed. */
  before?: string
  /** As it is now, in the same forms. */
  after?: string
}

/** One thing that a server says about itself, by name: the URI of a resource, the URI template of a template. */
export interface TrustItem {
  what: Exclude<DefinitionChange['what'], 'command'>
  name: string
}

/**
 * How one thing of a server stands. `pinned`: it is as it was agreed to. `quarantined`: it is new, changed or
 * dangerous, and out of use until the person accepts or blocks it. `blocked`: the person does not want it, until it
 * changes.
 */
export interface TrustedItem extends TrustItem {
  state: 'pinned' | 'quarantined' | 'blocked'
  /** When what stands there now was agreed to, or first seen. ISO 8601. */
  since: string
  /** Whether the server listed it when it was last seen. */
  listed: boolean
  /** What is not as it was agreed to. */
  changes: readonly DefinitionChange[]
  findings: readonly TrustFinding[]
}

/** What is known of one server. */
export interface ServerTrust {
  /** As it is configured, or as it was called when it was last seen. */
  server: string
  /** What it is, whatever it is called: its command with what belongs to it, or its address. */
  identity: string
  /** Whether this host is configured with it. */
  configured: boolean
  /** When it was first seen, ISO 8601; absent where it never was. */
  since?: string
  /** About the server as a whole, such as a name that looks like another's. */
  findings: readonly TrustFinding[]
  items: readonly TrustedItem[]
}

/**
 * What servers say about themselves is pinned when it is first seen, and anything else they say later is out of use
 * until the person accepts it. What is decided here belongs to the server's identity and is kept in the store.
 *
 * Servers are called by their configured names; those that are not configured by the name or identity under which
 * they were last seen. Every method throws an McpError 'INVALID' for a server that is unknown, or an item it never had.
 */
export interface TrustService {
  /** Every configured server, then every other one that was ever seen. */
  servers(): ServerTrust[]
  server(name: string): ServerTrust
  /**
   * Agrees to these things as they were last seen, or to all that are quarantined. Blocked ones are accepted where
   * they are named. Gives those that may be used from now on.
   */
  accept(server: string, items?: readonly TrustItem[]): TrustItem[]
  /** Takes these things, or all that are quarantined, out of use until they change. Gives those. */
  block(server: string, items?: readonly TrustItem[]): TrustItem[]
  /** Forgets what was decided about these things, or the whole server: what it says next is pinned as at first use. */
  reset(server: string, items?: readonly TrustItem[]): TrustItem[]
}
