import { createHash, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'

/*
 * A stand-in for the API of a forge, written from the public description of GitHub's REST API: issues, comments and search, OAuth
 * for users, pages by Link header, rate limits, and its errors. It keeps everything in memory.
 */

interface Issue {
  number: number
  title: string
  body: string | null
  state: 'open' | 'closed'
  user: { login: string }
  labels: { name: string }[]
  comments: number
  html_url: string
  created_at: string
  /** Pull requests are listed among the issues. */
  pull_request?: { url: string }
}

interface Repository {
  private: boolean
  /** Logins that may see a private one. */
  members: string[]
  issues: Issue[]
  comments: Map<number, { id: number; user: { login: string }; body: string; created_at: string }[]>
}

export interface ForgeStandIn {
  origin: string
  clientId: string
  clientSecret: string
  /** Requests of the API so far, with the user of their token. */
  readonly requests: readonly { user: string; method: string; path: string }[]
  /** The user who is signed in at the forge in a browser. */
  browserUser: string
  /** Requests that were cancelled before they were answered. */
  aborted: number
  /** Answers the next requests of the API with these instead; status 0 never answers. */
  readonly next: { status: number; headers: Record<string, string>; body: object }[]
  /** Makes all tokens of a user invalid, as the user can in their settings. */
  revoke(login: string): void
  addRepository(
    name: string,
    options?: { private?: boolean; members?: string[]; issues?: string[]; pullRequests?: string[] },
  ): void
  close(): Promise<void>
}

/** Starts it on a free port of this machine. */
export async function startForgeStandIn(redirectOrigin: () => string): Promise<ForgeStandIn> {
  const repositories = new Map<string, Repository>()
  const codes = new Map<string, { login: string; challenge: string; redirectUri: string }>()
  const tokens = new Map<string, string>()
  const requests: { user: string; method: string; path: string }[] = []

  const server = createServer((request, response) => {
    answer(request).then(
      ({ status, headers = {}, body }) => {
        if (status === 0) {
          response.once('close', () => standIn.aborted++)
          return
        }
        response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers })
        response.end(body === undefined ? undefined : JSON.stringify(body))
      },
      () => response.writeHead(500).end(),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const origin = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`

  const standIn: ForgeStandIn = {
    origin,
    clientId: 'mcp-server',
    clientSecret: randomUUID(),
    requests,
    browserUser: 'alice-at-forge',
    aborted: 0,
    next: [],
    revoke(login) {
      for (const [token, user] of tokens) if (user === login) tokens.delete(token)
    },
    addRepository(name, options = {}) {
      const repository: Repository = {
        private: options.private ?? false,
        members: options.members ?? [],
        issues: [],
        comments: new Map(),
      }
      for (const title of options.issues ?? []) addIssue(name, repository, 'octo', { title })
      for (const title of options.pullRequests ?? []) {
        const issue = addIssue(name, repository, 'octo', { title })
        issue.pull_request = { url: issue.html_url.replace('/issues/', '/pull/') }
      }
      repositories.set(name, repository)
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }

  interface Answer {
    status: number
    headers?: Record<string, string>
    body?: object
  }

  async function answer(request: IncomingMessage): Promise<Answer> {
    const url = new URL(request.url ?? '/', origin)
    if (url.pathname === '/login/oauth/authorize') return authorize(url)
    if (url.pathname === '/login/oauth/access_token')
      return exchange(new URLSearchParams(await textOf(request)))
    const user = tokens.get(request.headers.authorization?.replace(/^Bearer /, '') ?? '')
    if (user === undefined) return { status: 401, body: { message: 'Bad credentials' } }
    requests.push({ user, method: request.method ?? '', path: url.pathname + url.search })
    const instead = standIn.next.shift()
    if (instead !== undefined) return instead
    return api(user, request.method ?? '', url, JSON.parse((await textOf(request)) || '{}'))
  }

  /** Signs the user of the browser in and agrees at once. */
  function authorize({ searchParams: query }: URL): Answer {
    const redirectUri = query.get('redirect_uri') ?? ''
    if (query.get('client_id') !== standIn.clientId || !redirectUri.startsWith(redirectOrigin())) {
      return { status: 400, body: { error: 'redirect_uri_mismatch' } }
    }
    const to = new URL(redirectUri)
    to.searchParams.set('state', query.get('state') ?? '')
    const code = randomUUID()
    codes.set(code, { login: standIn.browserUser, challenge: query.get('code_challenge') ?? '', redirectUri })
    to.searchParams.set('code', code)
    return { status: 302, headers: { location: to.href } }
  }

  function exchange(form: URLSearchParams): Answer {
    const code = codes.get(form.get('code') ?? '')
    codes.delete(form.get('code') ?? '')
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    const right =
      form.get('client_id') === standIn.clientId &&
      form.get('client_secret') === standIn.clientSecret &&
      code?.challenge === challenge &&
      code.redirectUri === form.get('redirect_uri')
    // As GitHub does, with status 200.
    if (!right) return { status: 200, body: { error: 'bad_verification_code' } }
    const token = `ghu_${randomUUID()}`
    tokens.set(token, code.login)
    return { status: 200, body: { access_token: token, token_type: 'bearer', scope: 'repo' } }
  }

  function api(user: string, method: string, url: URL, body: Record<string, unknown>): Answer {
    if (url.pathname === '/search/issues') return search(user, url)
    const [, owner, name, number, part] =
      /^\/repos\/([^/]+)\/([^/]+)\/issues(?:\/(\d+)(?:\/(comments))?)?$/.exec(url.pathname) ?? []
    const full = `${owner}/${name}`
    const repository = repositories.get(full)
    // A private repository does not exist for others.
    if (repository === undefined || !maySee(repository, user)) return notFound()
    if (number === undefined) {
      if (method === 'GET') return listIssues(repository, url)
      if (typeof body['title'] !== 'string' || body['title'] === '') {
        const errors = [{ resource: 'Issue', field: 'title', code: 'missing_field' }]
        return { status: 422, body: { message: 'Validation Failed', errors } }
      }
      return { status: 201, body: addIssue(full, repository, user, body) }
    }
    const issue = repository.issues.find((one) => one.number === Number(number))
    if (issue === undefined) return notFound()
    if (part === undefined) return { status: 200, body: issue }
    const comments = repository.comments.get(issue.number) ?? []
    if (method === 'GET') return paged(comments, url)
    const comment = {
      id: comments.length + 1,
      user: { login: user },
      body: String(body['body']),
      created_at: now(),
    }
    repository.comments.set(issue.number, [...comments, comment])
    issue.comments++
    return { status: 201, body: { ...comment, html_url: `${issue.html_url}#issuecomment-${comment.id}` } }
  }

  function listIssues(repository: Repository, url: URL): Answer {
    const state = url.searchParams.get('state') ?? 'open'
    const labels = (url.searchParams.get('labels') ?? '').split(',').filter(Boolean)
    const found = repository.issues.filter(
      (issue) =>
        (state === 'all' || issue.state === state) &&
        labels.every((label) => issue.labels.some(({ name }) => name === label)),
    )
    return paged(found.toReversed(), url)
  }

  function search(user: string, url: URL): Answer {
    const terms = (url.searchParams.get('q') ?? '').split(' ')
    const repo = terms.find((term) => term.startsWith('repo:'))?.slice(5)
    const words = terms.filter((term) => !term.includes(':')).map((word) => word.toLowerCase())
    const items = [...repositories]
      .filter(([name, repository]) => (repo === undefined || name === repo) && maySee(repository, user))
      .flatMap(([, { issues }]) => issues)
      .filter((issue) => !terms.includes('is:issue') || issue.pull_request === undefined)
      .filter(({ title, body }) => words.every((word) => `${title} ${body}`.toLowerCase().includes(word)))
    const { body: page, ...rest } = paged(items, url)
    return { ...rest, body: { total_count: items.length, incomplete_results: false, items: page ?? [] } }
  }

  /** One page of a list, with the next in the Link header. */
  function paged(all: readonly object[], url: URL): Answer {
    const page = Number(url.searchParams.get('page') ?? 1)
    const size = Math.min(100, Number(url.searchParams.get('per_page') ?? 30))
    const next = new URL(url)
    next.searchParams.set('page', String(page + 1))
    const more = all.length > page * size
    return {
      status: 200,
      headers: more ? { link: `<${next.href}>; rel="next"` } : {},
      body: all.slice((page - 1) * size, page * size),
    }
  }

  function addIssue(
    full: string,
    repository: Repository,
    login: string,
    body: Record<string, unknown>,
  ): Issue {
    const number = repository.issues.length + 1
    const labels = Array.isArray(body['labels']) ? body['labels'].map((name) => ({ name: String(name) })) : []
    const issue: Issue = {
      number,
      title: String(body['title']),
      body: typeof body['body'] === 'string' ? body['body'] : null,
      state: 'open',
      user: { login },
      labels,
      comments: 0,
      html_url: `${origin}/${full}/issues/${number}`,
      created_at: now(),
    }
    repository.issues.push(issue)
    return issue
  }

  return standIn
}

function maySee({ private: isPrivate, members }: Repository, user: string): boolean {
  return !isPrivate || members.includes(user)
}

function notFound() {
  return { status: 404, body: { message: 'Not Found' } }
}

function now(): string {
  return new Date().toISOString()
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) text += chunk
  return text
}
