import { McpError } from '@jackfield/sdk'
import { parseConfig, textsOf } from '../../config/config.ts'
import { givenValues } from '../../config/given-values.ts'
import { partsOf } from '../../config/variables.ts'
import { inWords, isDeeper, type JsonRecord } from '../../shared/json.ts'
import { oneLine } from '../../shared/text.ts'
import type { ConfigInput, InstallPlan, NeededValue, ServerConfig } from '../../types/index.ts'
import { scanCommand } from '../launch/command.ts'
import { refuseUnclearPackage } from './package-words.ts'
import { commandOf, given, mapTexts, standIn } from './values.ts'

const maxTexts = 500
const maxLevels = 64

/**
 * What installing a published server would put into the person's configuration. `name`: what it is called there;
 * default the last part of its own.
 * @throws McpError 'INVALID' where it cannot be started from here, or not in exactly one version
 */
export function planFrom(document: Readonly<JsonRecord>, name?: string): InstallPlan {
  const full = inWords(document['name'])
  if (isDeeper(document, maxLevels)) {
    throw new McpError('INVALID', `${oneLine(full)} cannot be installed: it is nested too deeply`)
  }
  if (![document['packages'], document['remotes']].some(Array.isArray)) {
    throw new McpError('INVALID', `${oneLine(full)} cannot be installed: it names nothing to start`)
  }
  const { servers, problems } = parseConfig(published(document), { file: 'server.json', env: {} })
  const [entry] = Object.entries(servers)
  if (entry === undefined) {
    const why = problems.find(({ severity }) => severity === 'error')?.message ?? 'names nothing to start'
    throw new McpError('INVALID', `${oneLine(full)} cannot be installed: it ${oneLine(why)}`)
  }
  const [own, { from, ...config }] = entry
  const called = name ?? own
  const inputs = from?.inputs ?? []
  refuseVariables(full, config, inputs)
  refuseUnclearPackage(config, document)
  const { version } = document
  return {
    ...planOf(called, config, inputs),
    publisher: full.slice(0, full.lastIndexOf('/')),
    ...(typeof version === 'string' && { version }),
  }
}

/** What installing a server by its own command line or address would do. */
export function planForServer(name: string, config: ServerConfig): InstallPlan {
  return planOf(name, config, [])
}

function planOf(name: string, config: ServerConfig, inputs: readonly ConfigInput[]): InstallPlan {
  const needs = inputs.map((input): NeededValue => {
    const { id, description, password = false, options } = input
    return {
      id,
      required: true,
      kind: 'text',
      ...(description !== undefined && { description }),
      ...(input.default !== undefined && { default: input.default }),
      ...(options !== undefined && { options }),
      ...(password && { secret: `${name}.${id}`.replaceAll('}', '') }),
    }
  })
  return {
    name,
    command: commandOf(config),
    given: givenValues('url' in config ? config.headers : config.env),
    needs,
    findings: scanCommand(config),
    config: (values) =>
      mapTexts(config, (text) => {
        const read = partsOf(text)
        if ('problem' in read) return text
        return read.parts
          .map((part) => {
            if (part.kind === 'text') return part.text
            const need = part.kind === 'input' ? needs.find(({ id }) => id === part.name) : undefined
            if (need === undefined) return part.written
            const [value] = need.secret === undefined ? given(need, values) : ['']
            return standIn(need, value ?? '')
          })
          .join('')
      }),
  }
}

/** What a document says of a published server. Whatever else stands in it is no part of what was agreed to. */
function published({ name, version, packages, remotes }: Readonly<JsonRecord>): string {
  return JSON.stringify({ name, version, packages, remotes })
}

/** Whoever published it must not read variables and files of this machine through its texts. */
function refuseVariables(name: string, config: ServerConfig, inputs: readonly ConfigInput[]): void {
  const texts = textsOf(config)
  if (texts.length > maxTexts) throw new McpError('INVALID', `${oneLine(name)} has too many arguments`)
  for (const { text } of texts) {
    const read = partsOf(text)
    const own =
      'parts' in read &&
      read.parts.every(
        (part) =>
          part.kind === 'text' || (part.kind === 'input' && inputs.some(({ id }) => id === part.name)),
      )
    if (own) continue
    throw new McpError(
      'INVALID',
      `${oneLine(name)} wants something of this machine by itself (${oneLine(text)}). Add it by hand if you trust it.`,
    )
  }
}
