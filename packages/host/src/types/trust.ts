/** A warning about a server, to consider before trusting it. */
export interface TrustFinding {
  /** A definition with a `danger` finding is quarantined even at first use. */
  severity: 'notice' | 'warning' | 'danger'
  /** The kind of warning: `hidden-characters`, `speaks-to-the-model`, `shadows-a-tool`, `sudo` and so on. */
  code: string
  /** The location: `tools.read_file.description`, `command`. */
  at: string
  /** One sentence: what it is and why it matters. */
  message: string
}

/** One part of a definition that changed since it was accepted. */
export interface DefinitionChange {
  /** How the definition or its part changed. */
  kind: 'added' | 'changed' | 'removed' | 'renamed'
  /** The kind of definition; `command`: the command line of the server. */
  what: 'tool' | 'prompt' | 'resource' | 'template' | 'instructions' | 'command'
  /** The name of the definition, or the URI of a resource or template. */
  name: string
  /**
   * Which part: `description`, `inputSchema.properties.path.description`. Absent if all of it is new or removed, and if only the
   * name changed.
   */
  field?: string
  /** The old value: text as it is, anything else as JSON. The old name if it was renamed. */
  before?: string
  /** The new value, in the same form. */
  after?: string
}

/** One definition of a server, by name: the URI of a resource, the URI template of a template. */
export interface TrustItem {
  /** The kind of definition. */
  what: Exclude<DefinitionChange['what'], 'command'>
  /** The name of the definition, or the URI of a resource or template. */
  name: string
}

/**
 * The trust state of one definition. `pinned`: unchanged since it was accepted. `quarantined`: new, changed or dangerous, and
 * disabled until the user accepts or blocks it. `blocked`: refused by the user, until it changes.
 */
export interface TrustedItem extends TrustItem {
  /** Whether it is enabled (`pinned`), waits for a decision, or is refused. */
  state: 'pinned' | 'quarantined' | 'blocked'
  /** When the current version was accepted or first seen. ISO 8601. */
  since: string
  /** Whether the server listed it last time. */
  listed: boolean
  /** The changes since it was accepted. */
  changes: readonly DefinitionChange[]
  /** Warnings about its texts and names. */
  findings: readonly TrustFinding[]
}

/** The trust state of one server. */
export interface ServerTrust {
  /** Its configured name, or its name when last seen. */
  server: string
  /** Its identity: its command with everything that belongs to it, or its URL. */
  identity: string
  /** Whether this host has it configured. */
  configured: boolean
  /** When it was first seen, ISO 8601; absent if it never was. */
  since?: string
  /** About the server as a whole, such as a name similar to another's. */
  findings: readonly TrustFinding[]
  /** Its stored definitions. */
  items: readonly TrustedItem[]
}

/**
 * Definitions of servers are pinned when first seen, and later changes are disabled until the user accepts them. Decisions belong
 * to the server's identity and are stored.
 *
 * Servers are referred to by their configured names; others by the name or identity under which they were last seen. Every method
 * throws an McpError 'NOT_FOUND' for an unknown server, 'INVALID' for an item it never had.
 */
export interface TrustService {
  /** Every configured server, then every other one that was ever seen. */
  servers(): ServerTrust[]
  /** The trust state of one server. */
  server(name: string): ServerTrust
  /**
   * Accepts these definitions as last seen, or all quarantined ones. Blocked ones are accepted only if named. Returns those that
   * are enabled from now on.
   */
  accept(server: string, items?: readonly TrustItem[]): TrustItem[]
  /** Blocks these definitions, or all quarantined ones, until they change. Returns them. */
  block(server: string, items?: readonly TrustItem[]): TrustItem[]
  /** Removes the decisions about these definitions, or the whole server: its next definitions are pinned as at first use. */
  reset(server: string, items?: readonly TrustItem[]): TrustItem[]
}
