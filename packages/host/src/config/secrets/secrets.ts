import type { FormTable } from '../../log/store/form-table.ts'
import type { AskInput, SecretStore, Secrets, ServerConfig } from '../../types/index.ts'
import { type ConfigEnvironment, soundsSecret } from '../variables.ts'
import type { Redactor } from './redactor.ts'
import { missingInputs, type ResolveDeps, resolveServer } from './resolve.ts'

/** What the answers of inputs are remembered under, as values of forms are under their server. */
const settingsPlace = 'inputs of configuration files'
const maxSetting = 65_536

export interface SecretsDeps {
  store: SecretStore
  /** Where answers are remembered that are no secrets. */
  settings: FormTable
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
  const { store, settings, redactor } = deps
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
  /** The answer to an input of a file. One that is no secret is remembered with the settings. */
  const inputOfFile: ResolveDeps['input'] = (secret, server, wanted) => {
    if (wanted.password === true || soundsSecret(wanted.id)) return input(secret, server, wanted)
    const turn = last.then(async () => {
      const kept = (await store.get(secret)) ?? settings.get(settingsPlace, secret)
      if (typeof kept === 'string') return kept
      const given = await deps.ask?.(server, wanted)
      if (given !== undefined && given !== '' && given.length <= maxSetting)
        settings.set(settingsPlace, secret, given)
      return given
    })
    last = turn.catch(() => {})
    return turn
  }
  return {
    get kind() {
      return store.kind
    },
    names: () => store.names(),
    async set(name, value) {
      redactor.add(value, name, name)
      await store.set(name, value)
    },
    async remove(name) {
      const wasSetting = settings.get(settingsPlace, name) !== undefined
      settings.forget(settingsPlace, name)
      return (await store.remove(name)) || wasSetting
    },
    missing: () =>
      missingInputs(
        deps.servers(),
        async (name) =>
          settings.get(settingsPlace, name) !== undefined || (await store.get(name)) !== undefined,
      ),
    redact: (text) => redactor.text(text),
    answer: input,
    resolve: (server, config) => resolveServer(server, config, { ...deps, input: inputOfFile }),
  }
}
