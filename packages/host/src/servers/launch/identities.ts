import { createHmac, randomBytes } from 'node:crypto'
import type { CredentialStore } from '@jackfield/sdk/client/auth'
import type { ConfigEnvironment } from '../../config/variables.ts'
import { serverIdentity } from '../../core/policy/identity.ts'
import type { IdentityTable } from '../../log/store/server-tables.ts'
import { fingerprint } from '../../shared/fingerprint.ts'
import type { ServerConfig } from '../../types/index.ts'
import { expandKnown } from './resolve-command.ts'

interface IdentitiesDeps {
  table: IdentityTable
  env: ConfigEnvironment
  home: string
  /** Where the key of the digests is stored; by default it is the store's salt. */
  credentials: CredentialStore | undefined
  /** Unique to the store. */
  salt: string
}

interface ExpandedConfig {
  config: ServerConfig
  /** Texts whose values must be resolved first, by position. */
  unresolved: ReadonlySet<string>
}

/**
 * Identities of servers. A variable in a command, its arguments, its folder or a URL is part of the identity with its value, so
 * that no grant survives another value; possible secrets are included as a keyed digest. Until such a value is resolved, a server
 * keeps its last identity.
 */
export class Identities {
  readonly #deps: IdentitiesDeps
  readonly #templates = new WeakMap<ServerConfig, { identity: string; isOpen: boolean }>()
  #key: Promise<string> | undefined

  constructor(deps: IdentitiesDeps) {
    this.#deps = deps
  }

  of(config: ServerConfig): string {
    const { identity, isOpen } = this.#template(config)
    return isOpen ? (this.#deps.table.get(identity) ?? identity) : identity
  }

  /** The identity when its values were last resolved; undefined if it has none, or they never were. */
  last(config: ServerConfig): string | undefined {
    const { identity, isOpen } = this.#template(config)
    return isOpen ? this.#deps.table.get(identity) : undefined
  }

  /** Records the current values of the variables. */
  async recordValues(config: ServerConfig, resolved: ServerConfig): Promise<void> {
    const expanded = this.#expand(config)
    const { identity } = this.#storeTemplate(config, expanded)
    if (expanded.unresolved.size === 0) return
    const key = await this.#secretKey()
    const values = new Map(identityTexts(resolved))
    const digest = (position: string, text: string): string =>
      expanded.unresolved.has(position)
        ? `${text}#${createHmac('sha256', key)
            .update(values.get(position) ?? '')
            .digest('hex')}`
        : text
    this.#deps.table.put(identity, serverIdentity(mapTexts(expanded.config, digest)))
  }

  #template(config: ServerConfig): { identity: string; isOpen: boolean } {
    return this.#templates.get(config) ?? this.#storeTemplate(config, this.#expand(config))
  }

  #storeTemplate(
    config: ServerConfig,
    { config: expanded, unresolved }: ExpandedConfig,
  ): { identity: string; isOpen: boolean } {
    const expandedIdentity = serverIdentity(expanded)
    const isOpen = unresolved.size > 0
    const identity = isOpen
      ? fingerprint({ file: config.from?.file, own: expandedIdentity })
      : expandedIdentity
    const template = { identity, isOpen }
    this.#templates.set(config, template)
    return template
  }

  /** Expands environment and folder variables; others stay as written. */
  #expand(config: ServerConfig): ExpandedConfig {
    const unresolved = new Set<string>()
    const mapText = (position: string, text: string): string =>
      expandKnown(text, config, this.#deps, () => unresolved.add(position))
    return { config: mapTexts(config, mapText), unresolved }
  }

  #secretKey(): Promise<string> {
    this.#key ??= this.#createKey().catch((error: unknown) => {
      this.#key = undefined
      throw error
    })
    return this.#key
  }

  async #createKey(): Promise<string> {
    const { credentials, salt } = this.#deps
    if (credentials === undefined) return salt
    const name = `identity key ${salt}`
    return credentials.exclusive(name, async () => {
      const stored = await credentials.get(name)
      if (stored !== undefined) return stored
      const newKey = randomBytes(32).toString('base64')
      await credentials.set(name, newKey)
      return newKey
    })
  }
}

function mapTexts(config: ServerConfig, mapText: (position: string, text: string) => string): ServerConfig {
  if ('url' in config) return { ...config, url: mapText('url', config.url) }
  const { command, args, cwd } = config
  return {
    ...config,
    command: mapText('command', command),
    ...(args !== undefined && { args: args.map((text, index) => mapText(`args[${index}]`, text)) }),
    ...(cwd !== undefined && { cwd: mapText('cwd', cwd) }),
  }
}

/** The texts of a server's identity, each with its position. */
function identityTexts(config: ServerConfig): [at: string, text: string][] {
  const texts: [string, string][] = []
  mapTexts(config, (position, text) => {
    texts.push([position, text])
    return text
  })
  return texts
}
