import { shown } from '../../jsonrpc/shown.ts'

// Loaded when there may be something to warn of: see Router.

/** How long a client that was answered 401 takes at most to ask for the metadata. */
const patienceMs = 5_000

/** What a warning needs to know. */
export interface Mounting {
  /** The server's. */
  readonly name: string
  readonly path: string
  /** The path and query of the request that gave rise to the warning. */
  readonly url: string
  /** The documents that clients look for, by path. */
  readonly documents: ReadonlyMap<string, string> | undefined
  /** Whether a client asked for one of them. */
  isPublished(): boolean
}

/** Warns of how a framework mounts the handler. */
export function hint(what: 'metadata' | 'path', mounting: Mounting, warn: (message: string) => void): void {
  const { name, documents, isPublished } = mounting
  if (what === 'path') {
    warn(pathHint(mounting))
  } else if (documents !== undefined) {
    // A client that looks for metadata does so at once; a framework may not route it here.
    const timer = setTimeout(() => {
      if (!isPublished()) warn(metadataHint(name, [...documents.keys()]))
    }, patienceMs)
    if (typeof timer === 'object' && 'unref' in timer) timer.unref()
  }
}

function metadataHint(name: string, paths: readonly string[]): string {
  const routes = paths.map((path) => `app.all('${path}', handler.node)`).join(' and ')
  return (
    `${name}: a request was answered 401, and no client asked for the metadata that says where to get a token. ` +
    `Clients look for it at ${paths.join(' and ')}. If a framework routes only the endpoint to this handler, route that ` +
    `path to it too, in Express with ${routes}.`
  )
}

function pathHint({ name, url, path }: Mounting): string {
  const requested = shown(url.split('?', 1)[0] ?? '')
  return (
    `${name}: a POST to ${requested} was answered 404, because the endpoint of this handler is ${path}. If a framework ` +
    `routes that path to it, give serveHttp the same one in "path".`
  )
}

/** The warning that input requests do not outlive the process. */
export function statesHint(name: string, noKeys: boolean, noBackplane: boolean): string {
  const missing = [...(noKeys ? ['keys'] : []), ...(noBackplane ? ['a backplane'] : [])].join(' and ')
  return (
    `${name}: without ${missing}, an answer to an input request from before a restart, or from another process, is refused, ` +
    'and the client starts its request over. Give serveHttp the same keys and one backplane in every process, or set ' +
    'acceptUnknownStates: false if this is what you want.'
  )
}
