import { createHmac, randomBytes } from 'node:crypto'
import type { CredentialStore } from '@jackfield/sdk/client/auth'
import type { ConfigEnvironment } from '../../config/variables.ts'
import { serverIdentity } from '../../core/policy/identity.ts'
import type { IdentityTable } from '../../log/store/server-tables.ts'
import { fingerprint } from '../../shared/fingerprint.ts'
import type { ServerConfig } from '../../types/index.ts'
import { spelled } from './resolve-command.ts'

interface IdentitiesDeps {
  table: IdentityTable
  env: ConfigEnvironment
  home: string
  /** Where the key of the digests is stored; by default it is the store's salt. */
  credentials: CredentialStore | undefined
  /** Unique to the store. */
  salt: string
}

interface Named {
  config: ServerConfig
  /** Texts whose values must be resolved first, by position. */
  open: ReadonlySet<string>
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
  async settle(config: ServerConfig, resolved: ServerConfig): Promise<void> {
    const named = this.#named(config)
    const { identity } = this.#store(config, named)
    if (named.open.size === 0) return
    const key = await this.#secretKey()
    const values = new Map(textsOf(resolved))
    const digest = (at: string, text: string): string =>
      named.open.has(at)
        ? `${text}#${createHmac('sha256', key)
            .update(values.get(at) ?? '')
            .digest('hex')}`
        : text
    this.#deps.table.put(identity, serverIdentity(mapped(named.config, digest)))
  }

  #template(config: ServerConfig): { identity: string; isOpen: boolean } {
    return this.#templates.get(config) ?? this.#store(config, this.#named(config))
  }

  #store(config: ServerConfig, { config: named, open }: Named): { identity: string; isOpen: boolean } {
    const own = serverIdentity(named)
    const isOpen = open.size > 0
    const identity = isOpen ? fingerprint({ file: config.from?.file, own }) : own
    const template = { identity, isOpen }
    this.#templates.set(config, template)
    return template
  }

  /** Expands environment and folder variables; others stay as written. */
  #named(config: ServerConfig): Named {
    const open = new Set<string>()
    const name = (at: string, text: string): string => spelled(text, config, this.#deps, () => open.add(at))
    return { config: mapped(config, name), open }
  }

  #secretKey(): Promise<string> {
    this.#key ??= this.#makeKey().catch((error: unknown) => {
      this.#key = undefined
      throw error
    })
    return this.#key
  }

  async #makeKey(): Promise<string> {
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

function mapped(config: ServerConfig, name: (at: string, text: string) => string): ServerConfig {
  if ('url' in config) return { ...config, url: name('url', config.url) }
  const { command, args, cwd } = config
  return {
    ...config,
    command: name('command', command),
    ...(args !== undefined && { args: args.map((text, index) => name(`args[${index}]`, text)) }),
    ...(cwd !== undefined && { cwd: name('cwd', cwd) }),
  }
}

/** The texts of a server's identity, each with its position. */
function textsOf(config: ServerConfig): [at: string, text: string][] {
  const texts: [string, string][] = []
  mapped(config, (at, text) => {
    texts.push([at, text])
    return text
  })
  return texts
}
