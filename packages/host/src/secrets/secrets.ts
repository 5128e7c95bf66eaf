import type { ConfigEnvironment } from '../config/index.ts'
import type { AskInput, SecretStore, Secrets, ServerConfig } from '../types/index.ts'
import type { Redactor } from './redactor.ts'
import { missingInputs, type ResolveDeps, resolveServer } from './resolve.ts'

export interface SecretsDeps {
  store: SecretStore
  redactor: Redactor
  env: ConfigEnvironment
  home: string
  ask?: AskInput | undefined
  servers: () => Iterable<[string, ServerConfig]>
}

/** The secrets of one host. `resolve` makes of a configuration what is started. */
export function createSecrets(deps: SecretsDeps): Secrets & {
  resolve(server: string, config: ServerConfig): Promise<ServerConfig>
  /** The answer that is kept under a name, or that the person gives now; undefined where they give none. */
  answer: ResolveDeps['input']
} {
  const { store, redactor } = deps
  let last: Promise<unknown> = Promise.resolve()
  /** One question at a time; what two servers want is asked for once. */
  const input: ResolveDeps['input'] = (secret, server, wanted) => {
    const turn = last.then(async () => {
      const kept = await store.get(secret)
      if (kept !== undefined) return kept
      const given = await deps.ask?.(server, wanted)
      if (given !== undefined && given !== '') await store.set(secret, given)
      return given
    })
    last = turn.catch(() => {})
    return turn
  }
  return {
    kind: store.kind,
    names: () => store.names(),
    async set(name, value) {
      redactor.add(value, name, name)
      await store.set(name, value)
    },
    remove: (name) => store.remove(name),
    missing: () => missingInputs(deps.servers(), store),
    redact: (text) => redactor.text(text),
    answer: input,
    resolve: (server, config) => resolveServer(server, config, { ...deps, input }),
  }
}
