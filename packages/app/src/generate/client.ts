import { commentText, memberName, quoted, schemaType } from '@jackfield/host'
import type { JsonSchema, Prompt, Tool } from '@jackfield/sdk'
import { type Definitions, fileHeader, sortedByName, type TemplateDefinition } from './definitions.ts'
import { camelCase, pascalCase, uniqueNames } from './names.ts'

/** Names of Object.prototype, and `then`, which would make a value a thenable. */
const reserved = new Set([...Object.getOwnPropertyNames(Object.prototype), 'then', 'prototype', 'toJSON'])

/** Prefixes of `Result` in the names of types that the file imports or declares. */
const importedTypes = new Set(['Tool', 'CallTool', 'GetPrompt', 'ReadResource'])

/** The source of a typed client for one server, in one TypeScript file. Deterministic for the same definitions. */
export function clientSource(definitions: Definitions, version: string): string {
  const name = pascalCase(definitions.server, 'Server')
  const lowerName = camelCase(definitions.server, 'server')
  const tools = toolParts(sortedByName(definitions.tools, (tool) => tool.name))
  const prompts = promptParts(sortedByName(definitions.prompts, (prompt) => prompt.name))
  const templates = templateParts(sortedByName(definitions.templates, ({ template }) => template.uriTemplate))
  const parts = [
    { member: 'tools', about: 'The tools.', declarations: tools },
    { member: 'prompts', about: 'The prompts.', declarations: prompts },
    {
      member: 'resources',
      about: 'Resources by their templates. `client.read(uri)` reads any other.',
      declarations: templates,
    },
  ].filter(({ declarations }) => declarations.members.length > 0)
  const types = [...tools.types, ...prompts.types, ...templates.types]
  const isTyped = definitions.tools.some(({ outputSchema }) => outputSchema !== undefined)
  return [
    fileHeader('client', definitions, version),
    importLines(tools, prompts, templates),
    ...(tools.members.length === 0 ? [] : [toolResult]),
    ...types,
    `/** What ${commentText(definitions.server)} offers. */\n${[
      `export interface ${name}Client extends AsyncDisposable {`,
      '  /** The connection, for everything else. */',
      '  readonly client: Client',
      ...parts.map(
        ({ member, about, declarations }) =>
          `  /** ${about} */\n  readonly ${member}: {\n${declarations.signatures.join('\n')}\n  }`,
      ),
      '  close(): Promise<void>',
      '}',
    ].join('\n')}`,
    connectFunction(name, lowerName),
    [
      '/** The same for a connected client. */',
      `export function ${lowerName}Client(client: Client): ${name}Client {`,
      '  return {',
      '    client,',
      ...parts.map(
        ({ member, declarations }) => `    ${member}: {\n${declarations.members.join('\n')}\n    },`,
      ),
      '    close: () => client.close(),',
      '    [Symbol.asyncDispose]: () => client.close(),',
      '  }',
      '}',
    ].join('\n'),
    ...(tools.members.length === 0 ? [] : [callFunction]),
    ...(isTyped ? [structuredFunction] : []),
  ]
    .join('\n\n')
    .concat('\n')
}

interface Parts {
  /** Type declarations. */
  types: string[]
  /** Members of the interface. */
  signatures: string[]
  /** Members of the value. */
  members: string[]
}

function importLines(tools: Parts, prompts: Parts, templates: Parts): string {
  const results = [
    ...(tools.members.length > 0 ? ['type CallToolResult'] : []),
    ...(prompts.members.length > 0 ? ['type GetPromptResult'] : []),
    ...(templates.members.length > 0 ? ['parseTemplate', 'type ReadResourceResult'] : []),
  ]
  const clients = [
    ...(tools.members.length + prompts.members.length > 0 ? ['type CallOptions'] : []),
    'type Client',
    'type ConnectOptions',
    'connect',
    ...(templates.members.length > 0 ? ['type ReadOptions'] : []),
    'type Target',
  ]
  return [
    ...(results.length === 0 ? [] : [`import { ${results.join(', ')} } from '@jackfield/sdk'`]),
    `import { ${clients.join(', ')} } from '@jackfield/sdk/client'`,
  ].join('\n')
}

function toolParts(tools: readonly Tool[]): Parts {
  const methods = uniqueNames(tools, ({ name }) => camelCase(name, 'tool'), reserved)
  const typeNames = uniqueNames(tools, ({ name }) => pascalCase(name, 'Tool'), importedTypes)
  const all = tools.map((tool) => {
    const method = methods.get(tool) ?? ''
    const type = typeNames.get(tool) ?? ''
    const { name, inputSchema, outputSchema } = tool
    const output = outputSchema === undefined ? 'unknown' : `${type}Result`
    const given = `args${isOptional(inputSchema) ? '?' : ''}: ${type}Arguments, options?: CallOptions`
    return {
      types: [
        `/** Arguments of the tool ${commentText(quoted(name))}. */\nexport type ${type}Arguments = ${argumentsType(inputSchema)}`,
        ...(outputSchema === undefined
          ? []
          : [
              `/** Structured result of the tool ${commentText(quoted(name))}. */\nexport type ${type}Result = ${schemaType(outputSchema)}`,
            ]),
      ],
      signature: `${docComment(tool, tool.annotations?.title)}    ${method}(${given}): Promise<ToolResult<${output}>>`,
      member: `      ${method}: (args, options) => call(client, ${quoted(name)}, args, options),`,
    }
  })
  return joinParts(all)
}

function promptParts(prompts: readonly Prompt[]): Parts {
  const methods = uniqueNames(prompts, ({ name }) => camelCase(name, 'prompt'), reserved)
  const all = prompts.map((prompt) => {
    const method = methods.get(prompt) ?? ''
    const list = prompt.arguments ?? []
    const isRequired = list.some(({ required }) => required === true)
    const members = stringMembers(list.map(({ name, required }) => ({ name, required: required === true })))
    return {
      types: [],
      signature: `${docComment(prompt)}    ${method}(args${isRequired ? '' : '?'}: ${members}, options?: CallOptions): Promise<GetPromptResult>`,
      member: `      ${method}: (args, options) => client.prompt(${quoted(prompt.name)}, args, options),`,
    }
  })
  return joinParts(all)
}

function templateParts(templates: readonly TemplateDefinition[]): Parts {
  const methods = uniqueNames(templates, ({ template }) => camelCase(template.name, 'template'), reserved)
  const all = templates.map((definition) => {
    const { template } = definition
    const method = methods.get(definition) ?? ''
    const members = stringMembers(definition.variables)
    return {
      types: [],
      signature: `${docComment(template)}    ${method}(variables: ${members}, options?: ReadOptions): Promise<ReadResourceResult>`,
      member: `      ${method}: (variables, options) =>\n        client.read(parseTemplate(${quoted(template.uriTemplate)}).expand(variables), options),`,
    }
  })
  return joinParts(all)
}

function joinParts(all: readonly { types: string[]; signature: string; member: string }[]): Parts {
  return {
    types: all.flatMap(({ types }) => types),
    signatures: all.map(({ signature }) => signature),
    members: all.map(({ member }) => member),
  }
}

/** A type whose members are all strings. */
function stringMembers(list: readonly { name: string; required: boolean }[]): string {
  const members = new Map(list.map(({ name, required }) => [name, required]))
  if (members.size === 0) return 'Record<string, never>'
  const written = [...members].map(([name, required]) => `${memberName(name)}${required ? '' : '?'}: string`)
  return `{ ${written.join('; ')} }`
}

/** Arguments are an object, even if the schema allows other types. */
function argumentsType(schema: JsonSchema): string {
  const type = schemaType(schema)
  if (type === '{}') return 'Record<string, never>'
  const others = ['$ref', 'const', 'enum', 'anyOf', 'oneOf', 'allOf']
  const isPlain = schema.type === 'object' && !others.some((keyword) => keyword in schema)
  return isPlain ? type : `Record<string, unknown> & (${type})`
}

function isOptional({ required }: JsonSchema): boolean {
  return !Array.isArray(required) || required.length === 0
}

/** A definition's description as the member's doc comment. */
function docComment(
  { name, title, description }: { name: string; title?: string; description?: string },
  otherTitle?: string,
): string {
  const texts = [title ?? otherTitle, description].filter((part) => part !== undefined && part.trim() !== '')
  const text = texts.length === 0 ? `\`${name}\`` : texts.join(': ')
  return `    /** ${commentText(text)} */\n`
}

const toolResult = `/** The result of a tool. If the tool itself failed, \`isError\` is true and \`content\` says why. */
export type ToolResult<T> = Omit<CallToolResult, 'structuredContent'> & { structuredContent?: T }`

function connectFunction(name: string, lowerName: string): string {
  return `/**
 * Connects to the server: \`target\` is its URL, \`http(url, { headers })\`, or \`stdio({ command, args, env })\` of
 * '@jackfield/sdk/client/stdio'. Read secrets from the environment or a secret store.
 */
export async function connect${name}(target: Target, options?: ConnectOptions): Promise<${name}Client> {
  const client: Client = await connect(target, options)
  try {
    // Structured results are checked against the output schemas that the server lists.
    await client.tools()
    return ${lowerName}Client(client)
  } catch (error) {
    await client.close()
    throw error
  }
}`
}

const callFunction = `async function call<T>(
  client: Client,
  name: string,
  args: Record<string, unknown> | undefined,
  options: CallOptions | undefined,
): Promise<ToolResult<T>> {
  return (await client.call(name, args, options)) as ToolResult<T>
}`

const structuredFunction = `/** The structured content of a result. Throws an Error with the text of the result if there is none. */
export function structured<T>({ content, isError, structuredContent }: ToolResult<T>): T {
  if (isError !== true && structuredContent !== undefined) return structuredContent
  const texts = content.flatMap((block) => (block.type === 'text' ? [block.text] : []))
  throw new Error(texts.join('\\n') || 'The result has no structured content')
}`
