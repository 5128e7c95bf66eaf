import type { Client, Watch } from '@jackfield/sdk/client'
import type { ActiveRequest, ActiveRequests } from '../core/active-requests.ts'
import { isTransportError } from '../core/call-results.ts'
import type { Policy } from '../core/policy/policy.ts'
import type { Trust } from '../core/trust/trust.ts'
import type { Recorder, RowStart } from '../log/store/activity-log.ts'
import type { ResourceTexts } from '../resources/texts.ts'
import type { Catalog, ShownCatalog } from '../servers/catalog.ts'
import type { ServerConnection } from '../servers/connections/connection.ts'
import { listChanges } from '../servers/connections/lists.ts'
import type { Redaction } from '../servers/launch/launch.ts'
import { reasonOf } from '../shared/text.ts'
import type { Host } from '../types/index.ts'
import type { RunningWork } from './running-work.ts'

/** Milliseconds a manual ping waits for its response. */
const pingTimeoutMs = 10_000

interface RequestsDeps {
  catalog: Catalog
  shown: ShownCatalog
  trust: Trust
  policy: Policy
  activeRequests: ActiveRequests
  recorder: Recorder
  redaction: Redaction
  running: RunningWork
  texts: ResourceTexts
}

/** Requests to servers other than tool calls: without effects, but with an activity row. */
export class Requests
  implements Pick<Host, 'read' | 'prompt' | 'complete' | 'watch' | 'ping' | 'setLogLevel'>
{
  readonly #deps: RequestsDeps

  constructor(deps: RequestsDeps) {
    this.#deps = deps
  }

  read: Host['read'] = async (server, address, options = {}) => {
    const { catalog, shown, trust, texts, redaction } = this.#deps
    const uri = shown.uriOf(server, address)
    const connection = catalog.server(server)
    trust.refuse(connection, 'resource', uri)
    return this.#recorded(
      { kind: 'read', server, summary: uri, cause: options.cause ?? null, detail: { uri } },
      { method: 'resources/read', target: uri, ...within(options) },
      connection,
      async (client, signal) => {
        const result = await client.read(uri, { signal })
        if (options.searchable !== false) texts.add(connection, uri, redaction.value(result).contents)
        return result
      },
      options,
    )
  }

  prompt: Host['prompt'] = async (name, args, options = {}) => {
    const { catalog, shown, trust } = this.#deps
    const { entry, connection } = catalog.prompt(shown.nameOf(name))
    const promptName = entry.prompt.name
    trust.refuse(connection, 'prompt', promptName)
    return this.#recorded(
      {
        kind: 'prompt',
        server: entry.server,
        summary: `Prompt ${promptName}`,
        detail: { prompt: promptName, arguments: args },
      },
      { method: 'prompts/get', target: promptName, arguments: args, ...within(options) },
      connection,
      (client, signal) => client.prompt(promptName, args, { signal }),
      options,
    )
  }

  complete: Host['complete'] = (server, params, options = {}) => {
    const { catalog, shown, running, redaction } = this.#deps
    const { ref } = params
    const request = 'uri' in ref ? { ...params, ref: { ...ref, uri: shown.uriOf(server, ref.uri) } } : params
    return running.track(async (signal) => {
      try {
        const client = await catalog.server(server).ready(signal)
        return redaction.value(await client.complete(request, { signal }))
      } catch (error) {
        throw redaction.error(error)
      }
    }, options.signal)
  }

  ping: Host['ping'] = (server, { signal } = {}) =>
    this.#request(server, signal, async (client, until) => {
      const since = performance.now()
      await client.ping({ signal: until, timeoutMs: pingTimeoutMs })
      return performance.now() - since
    })

  setLogLevel: Host['setLogLevel'] = (server, level) =>
    this.#request(server, undefined, (client) => client.setLogLevel(level))

  #request<T>(
    server: string,
    signal: AbortSignal | undefined,
    work: (client: Client, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { catalog, running, redaction } = this.#deps
    return running.track(async (until) => {
      try {
        return await work(await catalog.server(server).ready(until), until)
      } catch (error) {
        throw redaction.error(error)
      }
    }, signal)
  }

  watch: Host['watch'] = (server, uris, onChange) => {
    const { catalog, shown, recorder, running, redaction } = this.#deps
    const connection = catalog.server(server)
    return running.track(async () => {
      const client = await connection.ready(running.signal)
      const lists = listChanges(client)
      const row = recorder.open({
        kind: 'change',
        server,
        summary: `Changes of ${server} are watched`,
        detail: { ...lists, uris },
      })
      try {
        const filter = {
          ...lists,
          ...(uris.length > 0 && { resourceSubscriptions: uris.map((uri) => shown.uriOf(server, uri)) }),
        }
        const watch: Watch = await client.watch(filter, (change) => onChange(redaction.value(change)))
        running.follow(watch.closed.then(() => row.close('ended', { acknowledged: watch.acknowledged })))
        return watch
      } catch (error) {
        row.close('error', { reason: reasonOf(error) })
        throw error
      }
    })
  }

  /** Runs an operation at a server and writes its row. */
  #recorded<T extends object>(
    start: RowStart,
    origin: Omit<ActiveRequest, 'server' | 'row'>,
    connection: ServerConnection,
    work: (client: Client, signal: AbortSignal) => Promise<T>,
    { signal, onRow }: { signal?: AbortSignal; onRow?: (activity: number) => void },
  ): Promise<T> {
    const { running, recorder, activeRequests, policy, redaction } = this.#deps
    return running.track(async (until) => {
      const row = recorder.open(start)
      onRow?.(row.id)
      const endRequest = activeRequests.begin({ ...origin, server: connection.name, row: row.id })
      let requestError: unknown
      try {
        const client = await connection.ready(until, origin.conversation)
        const result = await work(client, until).catch((error: unknown) => {
          if (isTransportError(error)) connection.suspect(client)
          requestError = error
          throw error
        })
        policy.noteLabels(origin.conversation, connection.name, connection.config.labels ?? [])
        row.close('ok', { result })
        return redaction.value(result)
      } catch (error) {
        row.close(until.aborted ? 'cancelled' : 'error', { reason: reasonOf(error) })
        throw redaction.error(error)
      } finally {
        endRequest(requestError)
      }
    }, signal)
  }
}

function within({ conversation }: { conversation?: string }): { conversation?: string } {
  return conversation === undefined ? {} : { conversation }
}
