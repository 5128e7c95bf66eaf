import { memberName, quoted } from '@jackfield/host'
import type { Tool } from '@jackfield/sdk'
import { dereference, isObject, typesOf } from '../cli/arguments.ts'
import { oneLine } from '../output/sanitize.ts'
import { firstSentence, typeText } from '../output/signature.ts'
import { cliRuntime, sharedFlags } from './cli-runtime.ts'
import { type Definitions, definitionsHash, fileHeader, sortedByName } from './definitions.ts'
import { kebabCase, uniqueNames, variableName } from './names.ts'

/** Whether a tool can be a subcommand: a name that starts with a dash would be an option. */
export function isCallable({ name }: Tool): boolean {
  return !name.startsWith('-')
}

/**
 * The source of a command line for one server: a subcommand for each tool, with the properties of its input schema as flags. It
 * calls through `jackfield`, which has the server's configuration. Deterministic for the same definitions.
 */
export function cliSource(definitions: Definitions, version: string): string {
  const { server, isConfigured } = definitions
  const tools = sortedByName(definitions.tools, ({ name }) => name)
  const names = uniqueNames(tools, ({ name }) => commandName(name), reservedCommands, '-')
  const commands = tools.map((tool) => commandFacts(tool, names.get(tool) ?? ''))
  const facts = {
    program: kebabCase(server) || 'server',
    version: `jackfield ${version}, definitions sha256:${definitionsHash('cli', definitions)}`,
    server: isConfigured ? server : null,
    variable: variableName(server),
    commands,
  }
  return [
    `#!/usr/bin/env node\n${fileHeader('cli', definitions, version)}`,
    cliRuntime.imports,
    `const facts = ${literalOf(facts)}`,
    cliRuntime.body,
  ].join('\n\n')
}

const reservedCommands = new Set(['help'])

/** A name that needs no shell quoting. */
function commandName(name: string): string {
  return /^[A-Za-z0-9][\w.-]{0,79}$/.test(name) ? name : kebabCase(name) || 'tool'
}

function commandFacts(tool: Tool, command: string) {
  const { name, title, description, inputSchema, annotations } = tool
  const properties = Object.entries(isObject(inputSchema.properties) ? inputSchema.properties : {})
  const required = Array.isArray(inputSchema.required) ? inputSchema.required : []
  const names = uniqueNames(properties, ([property]) => flagName(property), new Set(), '-')
  return {
    command,
    tool: name,
    about: firstSentence(description ?? title ?? annotations?.title ?? ''),
    details: oneLine(description ?? '', 2_000),
    flags: properties.map((entry) => {
      const [property, schema] = entry
      const resolved = isObject(schema) ? dereference(schema, inputSchema) : {}
      return {
        flag: names.get(entry) ?? '',
        property,
        types: [...typesOf(schema, inputSchema)],
        items: [...typesOf(resolved.items, inputSchema)],
        shown: oneLine(typeText(schema, inputSchema), 200),
        about:
          isObject(schema) && typeof schema.description === 'string' ? oneLine(schema.description, 300) : '',
        preset: resolved.default === undefined ? '' : oneLine(JSON.stringify(resolved.default), 60),
        required: required.includes(property),
      }
    }),
    isOpen: inputSchema.additionalProperties !== false,
    schema: inputSchema,
  }
}

/** The flag for a property; flags common to all commands keep their meaning. */
function flagName(property: string): string {
  const name = kebabCase(property) || 'argument'
  return sharedFlags.has(name) || name.startsWith('no-') ? `arg-${name}` : name
}

/** A JSON value as a JavaScript literal. */
function literalOf(value: unknown, indent = ''): string {
  const inner = `${indent}  `
  if (typeof value === 'string') return quoted(value)
  if (Array.isArray(value)) {
    if (value.length === 0) return '[]'
    const items = value.map((item) => `${inner}${literalOf(item, inner)},\n`)
    return `[\n${items.join('')}${indent}]`
  }
  if (!isObject(value)) return JSON.stringify(value) ?? 'null'
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  if (members.length === 0) return '{}'
  // Written as `__proto__: …`, it would set the prototype.
  const keyOf = (key: string): string => (key === '__proto__' ? '["__proto__"]' : memberName(key))
  return `{\n${members.map(([key, member]) => `${inner}${keyOf(key)}: ${literalOf(member, inner)},\n`).join('')}${indent}}`
}
