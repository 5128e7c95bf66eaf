import type { Host, LayeredConfig, Model, RankedModel, SamplingGrant, SamplingUsage } from '@jackfield/host'
import { ExitCode, usageError } from '../cli/exit.ts'
import type { Io, Output } from '../cli/io.ts'
import { modelsInUse } from '../cli/models.ts'
import { storeFile, storeToRead } from '../cli/store.ts'
import { type ConfigChoice, problemLine, readLayers } from '../cli/target.ts'
import { makeHost } from '../daemon/service.ts'
import { ago } from '../output/ago.ts'
import { oneLine } from '../output/sanitize.ts'
import { table } from '../output/table.ts'

export interface SamplingOptions extends ConfigChoice {
  store?: string
  json?: boolean
}

export interface RankOptions extends SamplingOptions {
  hint?: string[]
  cost?: number
  speed?: number
  intelligence?: number
}

/** `jackfield sampling`: how servers used the models, and which requests pass without asking. */
export async function sampling(options: SamplingOptions, io: Io, output: Output): Promise<ExitCode> {
  const store = storeFile(options.store, io)
  const config = await readSamplingConfig(options, io, output)
  await using host = createSamplingHost(config, store, [])
  const usage = host.sampling.usage()
  const grants = host.sampling.grants()
  output.result({ store, usage, grants }, () => {
    const { palette } = output
    const now = Date.now()
    const used =
      usage.length === 0
        ? 'No server used a model in the last 24 hours. Set limits under "sampling" in the "jackfield" section of the config.'
        : table(
            ['SERVER', 'LAST MINUTE', 'LAST 24 H', 'TOKENS', 'MONEY', 'UNREVIEWED', 'LAST'],
            usage.map((row) => usageRow(row, now)),
            output,
          )
    const passing =
      grants.length === 0
        ? 'You are asked about every request.'
        : `${palette.bold(`Passes without review: ${grants.length}`)}\n${table(
            ['SERVER', 'WHAT', 'SCOPE', 'SINCE', 'REVOKE WITH'],
            grants.map((grant) => grantRow(grant, now)),
            output,
          )}`
    return `${palette.dim(store)}\n${used}\n\n${passing}`
  })
  return ExitCode.done
}

/** `jackfield sampling revoke <id>`: revokes a sampling grant. */
export async function revokeSampling(
  id: string | undefined,
  options: SamplingOptions,
  io: Io,
  output: Output,
): Promise<ExitCode> {
  if (id === undefined)
    throw usageError('Which one? Usage: jackfield sampling revoke <id>; jackfield sampling lists them.')
  const store = storeFile(options.store, io)
  await using host = createSamplingHost(await readSamplingConfig(options, io, output), store, [])
  const known = host.sampling.grants().flatMap((grant) => (grant.id?.startsWith(id) ? [grant.id] : []))
  const [found] = known
  if (known.length > 1) throw usageError(`Several ids begin with "${id}". Write more of it.`)
  if (found === undefined || !host.sampling.revoke(found)) {
    throw usageError(`No permission has the id "${id}". jackfield sampling lists them.`)
  }
  output.result({ revoked: found }, () => 'You are asked again.')
  return ExitCode.done
}

/** `jackfield sampling rank`: which model a server's preferences would select, and why. */
export async function rankModels(options: RankOptions, io: Io, output: Output): Promise<ExitCode> {
  const config = await readSamplingConfig(options, io, output)
  await using host = createSamplingHost(config, ':memory:', modelsInUse(io.env, undefined, config.models))
  const choice = host.sampling.rank({
    ...(options.hint !== undefined && { hints: options.hint.map((name) => ({ name })) }),
    ...(options.cost !== undefined && { costPriority: options.cost }),
    ...(options.speed !== undefined && { speedPriority: options.speed }),
    ...(options.intelligence !== undefined && { intelligencePriority: options.intelligence }),
  })
  output.result(choice, () => {
    const { palette } = output
    const rows = choice.ranking.map(rankRow)
    const heading = `${palette.bold(oneLine(choice.model))}: ${oneLine(choice.reason)}`
    return `${heading}\n${table(['', 'MODEL', 'SCORE', 'WHY'], rows, output)}`
  })
  return ExitCode.done
}

function usageRow(row: SamplingUsage, now: number): string[] {
  const { limits } = row
  const money = Object.entries(row.cost).map(([currency, cost]) => `${cost.toFixed(4)} ${oneLine(currency)}`)
  const most = limits.costPerDay === undefined ? '' : ` of ${limits.costPerDay}`
  return [
    oneLine(row.server),
    `${row.requests} of ${limits.requestsPerMinute}`,
    `${row.requestsToday}`,
    `${formatNumber(row.tokens)} of ${formatNumber(limits.tokensPerDay)}`,
    `${money.join(', ')}${most}`,
    `${formatNumber(row.autoTokens)} of ${formatNumber(limits.autoTokensPerDay)}`,
    row.last === undefined ? '' : ago(row.last, now),
  ]
}

function formatNumber(value: number): string {
  return value.toLocaleString('en')
}

const scopeTexts: Readonly<Record<SamplingGrant['scope'], string>> = {
  always: 'from now on',
  conversation: 'one conversation',
  config: 'as the config says',
}

function grantRow({ id, server, stage, scope, at }: SamplingGrant, now: number): string[] {
  return [
    oneLine(server),
    stage === 'request' ? 'requests' : 'responses',
    scopeTexts[scope],
    at === undefined ? '' : ago(at, now),
    id === undefined ? 'the config' : `jackfield sampling revoke ${id.slice(0, 8)}`,
  ]
}

function rankRow({ model, score, reason }: RankedModel, index: number): string[] {
  return [`${index + 1}`, oneLine(model), score.toFixed(2), oneLine(reason)]
}

async function readSamplingConfig(options: SamplingOptions, io: Io, output: Output): Promise<LayeredConfig> {
  const config = await readLayers(options, io)
  for (const problem of config.problems) output.note(problemLine(problem))
  return config
}

function createSamplingHost(
  { sampling: settings }: LayeredConfig,
  store: string,
  models: readonly Model[],
): Host {
  return makeHost({ servers: {}, models: [...models], store: storeToRead(store), sampling: settings })
}
