import { resolve } from 'node:path'
import {
  type Caller,
  ConfigError,
  type PolicyExplanation,
  type PolicyPreview,
  type PolicyRule,
  parseConfig,
} from '@jackfield/host'
import { readJson } from '@jackfield/sdk/internal'
import { parseArguments } from '../cli/arguments.ts'
import { ExitCode, usageError } from '../cli/exit.ts'
import type { Io, Output } from '../cli/io.ts'
import { storeFile } from '../cli/store.ts'
import { type ConfigChoice, problemLine, readLayers } from '../cli/target.ts'
import { storeHost } from '../daemon/service.ts'
import { ago } from '../output/ago.ts'
import { grantText, ruleText, verdictText } from '../output/rules.ts'
import { count, oneLine } from '../output/sanitize.ts'
import { table } from '../output/table.ts'
import { type CommandContext, connectTo, type ServerOptions } from './context.ts'
import { requireFound } from './list.ts'

export interface PolicyOptions extends ConfigChoice {
  store?: string
  json?: boolean
}

/** `jackfield policy`: every rule, its meaning, and its source. */
export async function rules(options: PolicyOptions, io: Io, output: Output): Promise<ExitCode> {
  const config = await readLayers(options, io)
  const defaultVerdict = config.defaultVerdict ?? 'ask'
  const isAboutPolicy = ({ path }: { path: string }): boolean =>
    /^jackfield\.(?:rules|defaultVerdict)\b/.test(path)
  // A file that could not be read may have rules too.
  for (const problem of config.problems)
    if (problem.path === '' || isAboutPolicy(problem)) output.note(`! ${problemLine(problem)}`)
  output.result({ rules: config.rules, defaultVerdict }, () => {
    const { palette, columns } = output
    const rest = `Calls that match no rule: ${verdictText(defaultVerdict)}.`
    if (config.rules.length === 0) {
      return `There are no rules. ${rest} Write rules into your own configuration, ~/.config/jackfield/config.json:\n  "jackfield": { "rules": [{ "verdict": "allow", "tool": "read_*" }] }`
    }
    const rows = config.rules.map((rule) => [
      oneLine(rule.id),
      verdictText(rule.verdict),
      oneLine(rule.author ?? ''),
      ruleText(rule),
    ])
    return `${table(['RULE', 'VERDICT', 'AUTHOR', 'ABOUT'], rows, { palette, columns })}\n${palette.dim(`${count(config.rules.length, 'rule')}; deny before ask before allow. ${rest}`)}`
  })
  return ExitCode.done
}

export interface ExplainOptions extends ServerOptions {
  caller?: Caller
  conversation?: string
}

/** `jackfield policy explain <target> <tool> [key=value…]`: the policy decision for a call, and why. */
export async function explain(context: CommandContext<ExplainOptions>): Promise<ExitCode> {
  const { options, output } = context
  const { session, rest } = await connectTo(context, ['tools'], {
    item: { kind: 'tool', command: 'policy explain' },
  })
  await using _ = session
  const { client, catalog } = session
  const [name, ...words] = rest
  if (name === undefined) {
    throw usageError('Which tool? Usage: jackfield policy explain <target> <tool> [key=value …]')
  }
  const entry = requireFound(catalog.tools, ({ tool }) => tool.name, name, 'tool')
  const args = parseArguments(words, entry.tool.inputSchema)
  const { caller = 'chat', conversation } = options
  const explained = await client.call('policy.explain', {
    tool: entry.name,
    arguments: args,
    caller,
    ...(conversation !== undefined && { conversation }),
  })
  output.result({ tool: name, server: session.server, caller, arguments: args, ...explained }, () =>
    explanationText(`${oneLine(name)} of ${oneLine(session.server)}, called by ${caller}`, explained, output),
  )
  return ExitCode.done
}

function explanationText(what: string, explained: PolicyExplanation, { palette }: Output): string {
  const { decision, remember, matched, grants, labels, result } = explained
  const facts: [string, string][] = [
    ['verdict', verdictText(decision.verdict)],
    ['by rule', oneLine(decision.rule)],
    ['author', oneLine(decision.author ?? '')],
  ]
  if (decision.at !== undefined) facts.push(['since', decision.at])
  if (decision.verdict === 'ask') {
    facts.push(['remembered', remember.length === 0 ? 'never: every call asks' : remember.join(', ')])
  }
  if (labels.length > 0) facts.push(['labels', labels.map((one) => oneLine(one)).join(', ')])
  if (result !== undefined)
    facts.push(['result', `${verdictText(result.verdict)} by rule ${oneLine(result.rule)}`])
  facts.push(['rules', matched.length === 0 ? 'no rule matches' : `${matched.length} match`])
  for (const rule of matched) {
    facts.push(['', `${verdictText(rule.verdict)}  ${oneLine(rule.id)}: ${ruleText(rule)}`])
  }
  facts.push(['decisions', grants.length === 0 ? 'none is remembered' : `${grants.length} remembered`])
  for (const grant of grants) {
    facts.push(['', `${verdictText(grant.verdict)}  ${grant.scope}: ${grantText(grant)}`])
  }
  const lines = facts.map(([name, value]) => `  ${palette.dim(name.padEnd(11))} ${value}`)
  return [palette.bold(what), ...lines].join('\n')
}

export interface PreviewOptions extends PolicyOptions {
  days: number
}

/** `jackfield policy preview '<rule>'`: which calls of the activity log a rule would have matched. */
export async function preview(
  text: string | undefined,
  options: PreviewOptions,
  io: Io,
  output: Output,
): Promise<ExitCode> {
  if (text === undefined)
    throw usageError(
      `Which rule? Usage: jackfield policy preview <rule>, for example '{"verdict":"deny","tool":"delete_*"}'`,
    )
  const rule = parseRule(text, io)
  const store = storeFile(options.store, io)
  await using host = storeHost(store)
  const preview = host.policy.preview(rule, { days: options.days })
  output.result({ store, rule, ...preview }, () => previewText(rule, preview, options.days, output))
  return ExitCode.done
}

function parseRule(text: string, io: Io): PolicyRule {
  let given: unknown
  try {
    given = readJson(text)
  } catch (error) {
    throw usageError(`The rule is not valid JSON: ${error instanceof Error ? error.message : error}`)
  }
  try {
    const document = { mcpServers: {}, jackfield: { rules: [given] } }
    const [rule] = parseConfig(JSON.stringify(document), { file: resolve(io.cwd, 'rule'), env: io.env }).rules
    if (rule !== undefined) return { ...rule, id: rule.id === 'jackfield.rules[0]' ? 'this rule' : rule.id }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const problems = error.problems.map(
      ({ path, message }) => `${path.replace('jackfield.rules[0]', 'rule')} ${message}`,
    )
    throw usageError(`The rule is invalid: ${problems.join('; ')}`)
  }
  throw usageError('The rule must be a JSON object such as {"verdict":"deny","tool":"delete_*"}.')
}

function previewText(
  rule: PolicyRule,
  preview: PolicyPreview,
  days: number,
  { palette, columns }: Output,
): string {
  const { matched, considered, uncertain } = preview
  const unsure =
    uncertain === 0
      ? ''
      : ` ${uncertain} more could not be checked: their arguments were too long to be recorded.`
  const counts = `It would have matched ${matched.length} of ${considered} calls of the last ${days} days.${unsure}`
  const heading = `${verdictText(rule.verdict)}  ${ruleText(rule)}`
  if (matched.length === 0) return `${heading}\n${counts}`
  const now = Date.now()
  const rows = matched.map((call) => [
    `#${call.activity}`,
    ago(call.at, now),
    call.caller,
    verdictText(call.decision.verdict),
    oneLine(call.decision.rule, 30),
    call.outcome,
    verdictText(call.verdict),
    oneLine(`${call.tool} of ${call.server}`),
  ])
  const heads = ['ROW', 'WHEN', 'CALLER', 'WAS', 'BY RULE', 'OUTCOME', 'WOULD BE', 'TOOL']
  return `${heading}\n${table(heads, rows, { palette, columns })}\n${counts}`
}

/** `jackfield policy grants`: every grant that outlives its conversation. */
export async function grants(options: PolicyOptions, io: Io, output: Output): Promise<ExitCode> {
  const store = storeFile(options.store, io)
  await using host = storeHost(store)
  const list = host.policy.grants()
  output.result({ store, grants: list }, () => {
    const { palette, columns } = output
    if (list.length === 0) {
      return `${palette.dim(store)}\nNo decisions are remembered. To remember one, choose "and remember…" when you are asked about a call.`
    }
    const now = Date.now()
    const rows = list.map((grant) => [
      grant.id,
      verdictText(grant.verdict),
      grant.scope,
      ago(grant.at, now),
      grantText(grant),
    ])
    const footer = `${count(list.length, 'decision')}; jackfield policy revoke <id> revokes one.`
    return `${palette.dim(store)}\n${table(['ID', 'VERDICT', 'KEPT', 'SINCE', 'FOR'], rows, { palette, columns })}\n${palette.dim(footer)}`
  })
  return ExitCode.done
}

/** `jackfield policy revoke <id>`: revokes a grant. */
export async function revoke(
  id: string | undefined,
  options: PolicyOptions,
  io: Io,
  output: Output,
): Promise<ExitCode> {
  if (id === undefined)
    throw usageError(
      'Which decision? Usage: jackfield policy revoke <id>; jackfield policy grants lists them.',
    )
  const store = storeFile(options.store, io)
  await using host = storeHost(store)
  const fitting = host.policy.grants().filter((grant) => grant.id.startsWith(id))
  const [grant, ...others] = fitting
  if (grant === undefined)
    throw usageError(`No decision has the id "${id}". jackfield policy grants lists them.`)
  if (others.length > 0)
    throw usageError(`${fitting.length} decisions have ids that begin with "${id}". Write more of it.`)
  host.policy.revoke(grant.id)
  output.result(
    { store, revoked: grant },
    () => `Forgotten: ${verdictText(grant.verdict)} ${grantText(grant)}`,
  )
  return ExitCode.done
}
