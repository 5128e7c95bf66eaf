import { randomUUID } from 'node:crypto'
import { McpError } from '@jackfield/sdk'
import { defined } from '@jackfield/sdk/internal'
import { type Bundle, readBundle } from '../servers/install/bundle.ts'
import { planFrom } from '../servers/install/plan.ts'
import { bundleIn, createRegistry, fetchBundle, type RegistryOptions } from '../servers/install/registry.ts'
import type { ConfigPlan, Host, InstallPlan, RegistryServer, ReviewedInstallation } from '../types/index.ts'
import type { ConfigurationService } from './configuration.ts'

/** Milliseconds for which a reviewed installation is valid. */
const reviewTtlMs = 900_000
const maxReviews = 20

/** The host, its configuration, and where servers are found and unpacked. */
export interface InstallServiceOptions {
  host: Host
  configuration: ConfigurationService
  registry?: RegistryOptions | undefined
  /** The folder of unpacked bundles; without it, bundles cannot be installed. */
  bundles?: string | undefined
  home: string
}

interface Review {
  plan: InstallPlan
  bundle?: Bundle
  until: number
}

/** Servers of a registry: search, review, and installation in the user's configuration. */
export class InstallService {
  readonly #options: InstallServiceOptions
  readonly #reviews = new Map<string, Review>()

  constructor(options: InstallServiceOptions) {
    this.#options = options
  }

  /** One page of servers, without their documents. */
  async search(
    words: string,
    options: { cursor?: string; signal?: AbortSignal },
  ): Promise<{ registry: string; servers: Omit<RegistryServer, 'document'>[]; nextCursor?: string }> {
    const registry = createRegistry(this.#options.registry)
    const { servers, ...rest } = await registry.search(words, { limit: 30, ...options })
    return { registry: registry.url, servers: servers.map(({ document: _, ...server }) => server), ...rest }
  }

  /**
   * Previews the installation of a server. A bundle is downloaded and not unpacked; nothing is started.
   * @throws McpError if the registry has no server with that name, or it cannot be installed here
   */
  async review(
    published: string,
    { name, version, signal }: { name?: string; version?: string; signal?: AbortSignal },
  ): Promise<ReviewedInstallation> {
    const { host, configuration, registry, bundles, home } = this.#options
    const server = await createRegistry(registry).show(published, defined({ signal, version }))
    if (server.status === 'deleted')
      throw new McpError('INVALID', `${published} was deleted from the registry.`)
    const publishedBundle = bundleIn(server.document)
    let bundle: Bundle | undefined
    if (publishedBundle !== undefined) {
      if (bundles === undefined) throw new McpError('INVALID', 'This host has no folder for bundles.')
      const bytes = await fetchBundle(publishedBundle, defined({ env: registry?.env, signal }))
      bundle = readBundle(bytes, {
        folder: bundles,
        home,
        publisher: publishedBundle.publisher,
        ...defined({ name }),
      })
    }
    const plan = bundle?.plan ?? planFrom(server.document, name)
    const id = randomUUID()
    for (const [reviewId, review] of this.#reviews)
      if (review.until < Date.now()) this.#reviews.delete(reviewId)
    const [oldest] = this.#reviews.keys()
    if (this.#reviews.size >= maxReviews && oldest !== undefined) this.#reviews.delete(oldest)
    this.#reviews.set(id, { plan, until: Date.now() + reviewTtlMs, ...defined({ bundle }) })
    const names = new Set(await host.secrets.names())
    const { servers } = await configuration.view()
    const { config: _config, ...planFacts } = plan
    const digest = publishedBundle?.hash ?? /@(sha256:[0-9a-f]{64})/.exec(plan.words.join(' '))?.[1]
    return {
      id,
      published,
      description: server.description,
      ...defined({ repository: server.repository, status: server.status, digest }),
      stored: plan.needs.flatMap(({ secret }) => (secret !== undefined && names.has(secret) ? [secret] : [])),
      isKnown: servers.some((one) => one.name === plan.name),
      ...planFacts,
    }
  }

  /**
   * The configuration change with these values. Secret values are neither needed nor read.
   * @throws McpError 'INVALID' if a value is missing or invalid
   */
  async preview(id: string, values: Readonly<Record<string, string>>): Promise<ConfigPlan> {
    const { plan } = this.#reviewed(id)
    return await this.#options.configuration.planServer(plan.name, plan.config(planValues(plan, values)))
  }

  /**
   * Installs it and starts it; returns its name in the configuration. A row of the activity log records the approval. `secrets`:
   * values by `NeededValue.id`. `hash`: of the file whose change was shown.
   * @throws McpError 'INVALID' if a value is missing or invalid, 'CONFLICT' if the file changed since it was shown, 'NOT_FOUND' for
   *   an unknown or expired review
   */
  async install(
    id: string,
    values: Readonly<Record<string, string>>,
    { secrets, hash, by }: { secrets: Readonly<Record<string, string>>; hash: string | null; by: string },
  ): Promise<string> {
    const { plan, bundle } = this.#reviewed(id)
    const { host, configuration } = this.#options
    const stored = new Set(await host.secrets.names())
    const typedSecrets = plan.needs.flatMap(({ id: need, secret, required }) => {
      if (secret === undefined) return []
      const value = secrets[need] ?? ''
      if (value === '' && required && !stored.has(secret))
        throw new McpError('INVALID', `"${need}" is needed.`)
      return value === '' ? [] : [{ name: secret, value }]
    })
    const unpack = bundle && ((): Promise<void> => bundle.unpack())
    const change = await configuration.planServer(
      plan.name,
      plan.config(planValues(plan, values)),
      typedSecrets,
      unpack,
    )
    if (change.hash !== hash)
      throw new McpError('CONFLICT', `${change.file} changed since it was shown. Review the change again.`)
    await host.approveInstallation({ plan, file: change.file, starts: true }, { by })
    await configuration.write(change.id)
    this.#reviews.delete(id)
    return plan.name
  }

  #reviewed(id: string): Review {
    const review = this.#reviews.get(id)
    if (review === undefined || review.until < Date.now())
      throw new McpError('NOT_FOUND', 'This review has expired. Open the server again.')
    return review
  }
}

/** Values for a plan. Secrets that are required or were typed are replaced by their names. */
function planValues(
  { needs }: InstallPlan,
  values: Readonly<Record<string, string>>,
): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(
    needs.flatMap(({ id, secret, required, multiple }): [string, string[]][] => {
      if (secret !== undefined) return required || Object.hasOwn(values, id) ? [[id, ['']]] : []
      const value = Object.hasOwn(values, id) ? (values[id] ?? '') : ''
      const parts = multiple === true ? value.split('\n').filter((one) => one !== '') : [value]
      return value === '' ? [] : [[id, parts]]
    }),
  )
}
