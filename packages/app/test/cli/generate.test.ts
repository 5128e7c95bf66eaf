// biome-ignore-all lint/suspicious/noTemplateCurlyInString: texts of a server that mean to break out of a template.
import { execFile } from 'node:child_process'
import { readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, test, vi } from 'vitest'
import { type Ended, everything, filesystem, jsonFile, run, tempFolder, travel } from './jackfield.ts'

const root = fileURLToPath(new URL('../../../../', import.meta.url))
const execute = promisify(execFile)

// Every run starts several processes, and one compiles.
vi.setConfig({ testTimeout: 240_000 })

/** A folder of a project that has the SDK and the command installed. */
function project(): string {
  const folder = tempFolder()
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'dir')
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  return folder
}

/** Compiles every TypeScript file of a folder as strictly as the compiler can. */
async function compiled(folder: string): Promise<{ code: number; output: string }> {
  const compilerOptions = {
    ...{ module: 'nodenext', target: 'es2024', lib: ['es2024', 'esnext.disposable'], types: ['node'] },
    ...{ noEmit: true, strict: true, skipLibCheck: true, allowImportingTsExtensions: true },
    ...{
      noUncheckedIndexedAccess: true,
      exactOptionalPropertyTypes: true,
      noPropertyAccessFromIndexSignature: true,
    },
    ...{
      noUnusedLocals: true,
      noUnusedParameters: true,
      verbatimModuleSyntax: true,
      erasableSyntaxOnly: true,
    },
    ...{ isolatedDeclarations: true, declaration: true, noImplicitReturns: true },
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  return execute(process.execPath, [tsc, '-p', folder]).then(
    ({ stdout }) => ({ code: 0, output: stdout }),
    (error: { code: number; stdout: string }) => ({ code: error.code, output: error.stdout }),
  )
}

async function program(file: string, ...words: string[]): Promise<Ended> {
  const { PATH, NODE_COMPILE_CACHE } = process.env
  const env = { PATH, NODE_COMPILE_CACHE, HOME: tempFolder(), XDG_DATA_HOME: tempFolder() }
  return execute(process.execPath, [file, ...words], { env, cwd: tempFolder() }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }: Ended) => ({ code, stdout, stderr }),
  )
}

const entry = ([command, ...args]: string[], more: object = {}): object => ({ command, args, ...more })

/** A server that lists these tools, prompts and templates, and answers every call with its name and arguments. */
const listing = (lists: { tools?: object[]; prompts?: object[]; templates?: object[] }): string[] => [
  process.execPath,
  '-e',
  `const lists = JSON.parse(require('node:fs').readFileSync(process.argv[1], 'utf8'))
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line)
    if (id === undefined) return
    const results = {
      initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {}, prompts: {}, resources: {} },
        serverInfo: { name: 'listing', version: '1' } },
      'tools/list': { tools: lists.tools ?? [] },
      'prompts/list': { prompts: lists.prompts ?? [] },
      'resources/list': { resources: [] },
      'resources/templates/list': { resourceTemplates: lists.templates ?? [] },
      'tools/call': { content: [{ type: 'text', text: JSON.stringify(params) }], structuredContent: {} },
      'resources/read': { contents: [{ uri: params?.uri, text: 'read' }] },
    }
    const answer = results[method] ? { result: results[method] } : { error: { code: -32601, message: 'unknown' } }
    console.log(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
  })`,
  jsonFile(lists),
]

const evil = '*/ globalThis.broken = true /* `${globalThis.broken = true}` \u202e\u2028 // @ts-nocheck'
const object = { type: 'object' }
const hostileNames = [
  ...['*/', '`', '${1}', "'", '"', '\\', 'a\nb', '\u202eabc', '__proto__', 'constructor', 'then', 'toString'],
  ...[
    'class',
    'await',
    'delete',
    '1st',
    'get_sum',
    'getSum',
    'get-sum',
    'get sum',
    'tool',
    'call-tool',
    'get-prompt',
  ],
  ...['read-resource', 'help', 'Ünï', '東京', '', ' ', '</script>', '@ts-ignore', evil],
]
const hostile = {
  tools: hostileNames.map((name) => ({
    name,
    title: evil,
    description: name === '@ts-ignore' ? '@ts-expect-error' : `${evil} @ts-ignore`,
    inputSchema: {
      type: 'object',
      properties: Object.fromEntries([
        ...hostileNames.map((property) => [property, { type: 'string', description: evil, default: evil }]),
        ['choice', { enum: [evil, '\u202e', 1, null] }],
        ['json', { const: '`${1}`' }],
      ]),
      required: ['__proto__', '*/'],
    },
    outputSchema: { type: 'object', properties: { [evil]: { const: evil }, self: { $ref: '#' } } },
  })),
  prompts: hostileNames.map((name) => ({
    name,
    description: evil,
    arguments: hostileNames.map((argument) => ({ name: argument, description: evil })),
  })),
  templates: [
    { uriTemplate: 'x://{a}/`${1}`*/', name: evil, description: evil },
    { uriTemplate: 'y://{a}{?b}', name: '__proto__' },
    { uriTemplate: 'z://{broken', name: 'broken' },
  ],
}
/** Schemas that are no plain object, which arguments are all the same. */
const odd = {
  tools: [
    { type: 'object', anyOf: [{ type: 'string' }, {}] },
    {
      type: 'object',
      properties: { a: { type: 'number' } },
      oneOf: [{ required: ['a'] }, { properties: { b: {} } }],
    },
    { type: 'object', allOf: [{ type: 'object', properties: { c: { type: 'boolean' } } }] },
    { type: 'object', $ref: '#/$defs/nowhere' },
    { type: 'object', enum: ['x'] },
    { type: 'object', additionalProperties: false },
    { type: 'object', properties: { deep: { type: 'array', items: { $ref: '#' } } } },
  ].map((inputSchema, n) => ({ name: `odd${n}`, inputSchema })),
}

describe.concurrent('a generated client', () => {
  test('compiles strictly, and calls the real servers with types', async () => {
    const folder = project()
    const files = tempFolder()
    writeFileSync(join(files, 'note.txt'), 'the contents of a note')
    const servers = { everything, travel: travel(), files: filesystem(files) }
    const config = [
      '--config',
      jsonFile({
        mcpServers: Object.fromEntries(Object.entries(servers).map(([name, words]) => [name, entry(words)])),
      }),
    ]
    for (const name of Object.keys(servers)) {
      const words = ['generate', 'client', name, '--output-file', join(folder, `${name}.ts`), ...config]
      expect(await run([...words, '--start-what-this-folder-names'])).toMatchObject({ code: 0 })
    }
    for (const [name, lists] of Object.entries({ hostile, odd })) {
      const words = [
        'generate',
        'client',
        '--output-file',
        join(folder, `${name}.ts`),
        '--',
        ...listing(lists),
      ]
      expect(await run(words)).toMatchObject({ code: 0 })
    }
    const link = (words: string[]): string => JSON.stringify({ command: words[0], args: words.slice(1) })
    writeFileSync(
      join(folder, 'use.ts'),
      `import { stdio } from '@jackfield/sdk/client/stdio'
      import { connectEverything, structured } from './everything.ts'
      import { connectFiles } from './files.ts'
      import * as hostile from './hostile.ts'
      import * as odd from './odd.ts'
      import { connectTravel } from './travel.ts'

      await using everything = await connectEverything(stdio(${link(everything)}))
      const weather = structured(await everything.tools.getStructuredContent({ location: 'Chicago' }))
      const celsius: number = weather.temperature
      const { content } = await everything.tools.getSum({ a: 2, b: 3 })
      const { messages } = await everything.prompts.argsPrompt({ city: 'Oslo' })
      const { contents } = await everything.resources.dynamicTextResource({ resourceId: '1' })

      await using travel = await connectTravel(stdio(${link(travel())}))
      const flights = await travel.tools.searchFlights({ origin: 'NYC', destination: 'Barcelona', date: '2027-06-15' })

      await using files = await connectFiles(stdio(${link(filesystem(files))}))
      const note = await files.tools.readTextFile({ path: ${JSON.stringify(join(files, 'note.txt'))} })

      // What is wrong does not compile.
      const wrong = async (): Promise<void> => {
        // @ts-expect-error: not a place of the schema
        await everything.tools.getStructuredContent({ location: 'Oslo' })
        // @ts-expect-error: b is required
        await everything.tools.getSum({ a: 2 })
        // @ts-expect-error: no such tool
        await everything.tools.getProduct({ a: 2 })
        // @ts-expect-error: city is required
        await everything.prompts.argsPrompt()
      }
      console.log(JSON.stringify({
        celsius: typeof celsius, content, messages: messages.length, contents: contents.length, wrong: typeof wrong,
        flights: flights.isError ?? false, flightsAre: typeof flights.structuredContent, note: note.content,
        broken: 'broken' in globalThis, exports: [Object.keys(hostile).length, Object.keys(odd).length],
      }))`,
    )
    expect(await compiled(folder)).toEqual({ code: 0, output: '' })
    const { code, stdout, stderr } = await program(join(folder, 'use.ts'))
    expect({ code, stderr }).toMatchObject({ code: 0 })
    expect(JSON.parse(stdout)).toMatchObject({
      celsius: 'number',
      content: [{ type: 'text', text: 'The sum of 2 and 3 is 5.' }],
      messages: 1,
      contents: 1,
      flights: false,
      flightsAre: 'object',
      note: [{ type: 'text', text: 'the contents of a note' }],
      broken: false,
      exports: [3, 2],
    })
  })

  test('of a hostile server calls every tool by its own name, and contains no hidden characters', async () => {
    const folder = project()
    const file = join(folder, 'hostile.ts')
    const made = await run(['generate', 'client', '--output-file', file, '--', ...listing(hostile)])
    expect(made.code).toBe(0)
    expect(made.stderr).toContain('The template z://{broken is left out')
    const source = readFileSync(file, 'utf8')
    expect(source).not.toMatch(/[\p{Cf}\u2028\u2029]|[^\P{Cc}\n]/u)
    writeFileSync(
      join(folder, 'use.ts'),
      `import { stdio } from '@jackfield/sdk/client/stdio'
      import * as made from './hostile.ts'
      const [connect] = Object.entries(made).flatMap(([name, value]) => (name.startsWith('connect') ? [value] : []))
      const api = await connect(stdio(${JSON.stringify({ command: process.execPath, args: listing(hostile).slice(1) })}))
      const names = []
      for (const method of Object.keys(api.tools)) {
        const { content } = await api.tools[method](JSON.parse('{"__proto__":"x","*/":"y"}'))
        names.push([method, JSON.parse(content[0].text).name])
      }
      console.log(JSON.stringify({ names, broken: 'broken' in globalThis }))
      await api.close()`,
    )
    const { stdout, stderr } = await program(join(folder, 'use.ts'))
    expect(stderr).toBe('')
    const { names, broken } = JSON.parse(stdout)
    expect(broken).toBe(false)
    expect(new Set(names.map(([, name]: string[]) => name))).toEqual(
      new Set(hostile.tools.map(({ name }) => name)),
    )
    expect(Object.fromEntries(names)).toMatchObject({
      then_: 'then',
      toString_: 'toString',
      getSum: 'get sum',
    })
  })

  test('is independent of list order, and can be checked', async () => {
    const folder = project()
    const file = join(folder, 'client.ts')
    const tools = ['b', 'a', 'c'].map((name) => ({ name, inputSchema: object }))
    const generate = (lists: object, ...more: string[]): Promise<Ended> =>
      run(['generate', 'client', '-o', file, ...more, '--', ...listing(lists)])
    expect(await generate({ tools }, '--check')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('is out of date: it does not exist'),
    })
    expect(await generate({ tools })).toMatchObject({ code: 0 })
    const first = readFileSync(file, 'utf8')
    expect(await generate({ tools: tools.toReversed() })).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('was up to date'),
    })
    expect(readFileSync(file, 'utf8')).toBe(first)
    const { version } = JSON.parse(readFileSync(join(root, 'packages/app/package.json'), 'utf8'))
    expect(first.split('\n')[0]).toContain(`// Generated by jackfield ${version} `)
    expect(first.split('\n')[1]).toMatch(/^\/\/ Definitions: sha256:[0-9a-f]{64}$/)

    expect(await generate({ tools }, '--check')).toMatchObject({ code: 0 })
    const changed = await generate({ tools: tools.slice(1) }, '--check', '--json')
    expect(changed.code).toBe(1)
    expect(JSON.parse(changed.stdout)).toEqual({
      file,
      upToDate: false,
      reason: 'the definitions of the server changed',
    })
    expect(readFileSync(file, 'utf8')).toBe(first)
    writeFileSync(file, first.replace('The tools', 'My tools'))
    expect(await generate({ tools }, '--check')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('it was edited'),
    })
    writeFileSync(file, first.replace(`jackfield ${version} `, 'jackfield 0.0.1 '))
    expect(await generate({ tools }, '--check')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining(`jackfield 0.0.1 generated it, and this is ${version}`),
    })
  })

  test('never overwrites user files, and reports usage errors', async () => {
    const file = join(tempFolder(), 'mine.ts')
    writeFileSync(file, 'export const mine = 1\n')
    const words = ['--', ...listing({ tools: [{ name: 'a', inputSchema: object }] })]
    expect(await run(['generate', 'client', '-o', file, ...words])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('exists and was not generated by jackfield'),
    })
    expect(readFileSync(file, 'utf8')).toBe('export const mine = 1\n')
    for (const wrong of [[], ['server'], ['client', '--check'], ['client', '--json']])
      expect(await run(['generate', ...wrong, ...words])).toMatchObject({ code: 2 })
    expect(await run(['generate', 'cli', '--', ...listing({})])).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('nothing is generated'),
    })
  })

  test('contains nothing of the configuration except the name', async () => {
    const secrets = ['CANARY-env-4711', 'CANARY-arg-4712', 'CANARY-told-4713']
    const server = listing({ tools: [{ name: 'a', description: `Try ${secrets[0]}`, inputSchema: object }] })
    const mcpServers = {
      one: entry([...server, '--token', secrets[1] ?? ''], {
        env: { API_TOKEN: secrets[0], OTHER_KEY: secrets[2] },
      }),
    }
    const config = ['--config', jsonFile({ mcpServers }), '--start-what-this-folder-names']
    for (const kind of ['client', 'cli']) {
      const { code, stdout } = await run(['generate', kind, 'one', ...config])
      expect(code).toBe(0)
      expect(stdout).toContain('from what one offers')
      expect(stdout).not.toContain('CANARY')
      expect(stdout).not.toContain(process.execPath)
      const typed = await run([
        'generate',
        kind,
        '--env',
        `API_TOKEN=${secrets[0]}`,
        '--',
        ...server,
        '--token',
        secrets[1] ?? '',
      ])
      expect(typed.code).toBe(0)
      expect(typed.stdout).not.toContain('CANARY')
    }
  })
})

describe.concurrent('a generated command line', () => {
  test('calls a configured server by its name, with flags, help, errors and exit codes', async () => {
    const folder = project()
    const file = join(folder, 'everything.mjs')
    const config = ['--config', jsonFile({ mcpServers: { everything: entry(everything) } })]
    const allowed = ['--start-what-this-folder-names']
    expect(await run(['generate', 'cli', 'everything', '-o', file, ...config, ...allowed])).toMatchObject({
      code: 0,
    })
    expect(statSync(file).mode & 0o111).toBe(0o111)
    const cli = (...words: string[]): Promise<Ended> => program(file, ...words)

    const help = await cli('--help')
    expect(help).toMatchObject({ code: 0, stderr: '' })
    expect(help.stdout).toMatch(/^ {2}get-sum +Returns the sum of two numbers$/m)
    expect((await cli('get-annotated-message', '--help')).stdout).toMatch(
      /^ {2}--message-type <"error" \| "success" \| "debug">\n {40}Type of message .* \(required\)$/m,
    )
    expect((await cli('--version')).stdout).toMatch(/^jackfield \S+, definitions sha256:[0-9a-f]{64}\n$/)
    expect(await cli('get-sum', '--a', '2', '--b=3', ...config)).toMatchObject({
      code: 0,
      stdout: 'The sum of 2 and 3 is 5.\n',
    })
    expect(await cli('get-sum', '2', '-3', ...config)).toMatchObject({
      stdout: 'The sum of 2 and -3 is -1.\n',
    })
    const json = await cli('echo', '--args', '{"message":"hi"}', '--json', ...config)
    expect(JSON.parse(json.stdout)).toMatchObject({ content: [{ type: 'text', text: 'Echo: hi' }] })
    const note = join(folder, 'note.txt')
    writeFileSync(note, 'from a file')
    expect(await cli('echo', '--message', `@${note}`, ...config)).toMatchObject({
      stdout: 'Echo: from a file\n',
    })

    for (const [words, message] of [
      [['get-sum', '--a', '2'], 'Missing: --b <number>.'],
      [['get-sum', '--a', 'two', '--b', '3'], '--a must be a number, not "two".'],
      [['get-annotated-message', '--message-type', 'loud'], '--message-type must be'],
      [['get-sum', '--a', '1', '--b', '2', '--c', '3'], 'get-sum has no flag --c. It takes: --a, --b.'],
      [['get-summ'], 'There is no command "get-summ".'],
      [['get-sum', '--a'], '--a needs a value.'],
      [[], 'Usage: everything <command>'],
    ] as const) {
      const { code, stderr } = await cli(...words, ...config)
      expect({ words, code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining(message) })
    }
    const wrong = await cli('get-sum', '--json', ...config)
    expect(JSON.parse(wrong.stderr)).toMatchObject({ error: { message: expect.stringContaining('Missing') } })
    expect(await cli('get-sum', '1', '2', '--server', 'nowhere', ...config)).toMatchObject({ code: 2 })
    expect(await cli('get-sum', '1', '2', '--server', 'http://127.0.0.1:9/mcp')).toMatchObject({ code: 3 })
    expect(await cli('get-sum', '1', '2', '--', ...everything)).toMatchObject({ code: 0 })
  })

  test('of a hostile server is inert, and calls every tool whose name is usable', async () => {
    const folder = project()
    const file = join(folder, 'hostile.mjs')
    const lists = { tools: [...hostile.tools, { name: '--store=x', inputSchema: object }] }
    const made = await run(['generate', 'cli', '-o', file, '--', ...listing(lists)])
    expect(made.code).toBe(0)
    expect(made.stderr).toContain('The tool --store=x is left out')
    const source = readFileSync(file, 'utf8')
    expect(source).not.toMatch(/[\p{Cf}\u2028\u2029]|[^\P{Cc}\n]/u)
    expect(await program(file, '__proto__', '--arg-json', '`${1}`')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Missing:'),
    })
    const args = ['--args', '{"__proto__":"x","*/":"y"}']
    expect(await program(file, '__proto__', ...args)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Which server? Name one with --server'),
    })
    for (const name of ['__proto__', 'constructor', '*/', 'class', '@ts-ignore']) {
      const { code, stdout } = await program(file, name, ...args, '--', ...listing(lists))
      const called = JSON.parse(stdout.split('\n')[0] ?? '')
      expect({ name, code, called }).toEqual({
        name,
        code: 0,
        called: { name, arguments: JSON.parse('{"__proto__":"x","*/":"y"}'), _meta: expect.anything() },
      })
    }
    const help = await program(file, 'help')
    expect(help.stdout).toContain('Usage: ')
    expect(help.stdout).not.toMatch(/[\u202e\u2028]/)
  })

  test('parses lists, choices, switches and nested values by the schema', async () => {
    const file = join(project(), 'typed.mjs')
    const inputSchema = {
      type: 'object',
      properties: {
        tags: { type: 'array', items: { type: 'integer' } },
        dryRun: { type: 'boolean' },
        place: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
        limit: { anyOf: [{ type: 'integer', maximum: 5 }, { type: 'null' }] },
        json: { type: 'string' },
      },
      additionalProperties: false,
    }
    const server = listing({ tools: [{ name: 'plan', inputSchema }] })
    expect(await run(['generate', 'cli', '-o', file, '--', ...server])).toMatchObject({ code: 0 })
    const called = async (...words: string[]): Promise<unknown> => {
      const { code, stdout, stderr } = await program(file, 'plan', ...words, '--', ...server)
      return code === 0 ? JSON.parse(stdout.split('\n')[0] ?? '').arguments : stderr.trim()
    }
    expect(await called('--tags', '1', '--tags', '2', '--dry-run', '--place', '{"city":"Oslo"}')).toEqual({
      tags: [1, 2],
      dryRun: true,
      place: { city: 'Oslo' },
    })
    expect(await called('--tags', '3', '--no-dry-run', '--limit', 'null', '--arg-json', '{}')).toEqual({
      tags: [3],
      dryRun: false,
      limit: null,
      json: '{}',
    })
    expect(await called('--place', '{}')).toContain('--place')
    expect(await called('--limit', '9')).toContain('--limit')
    expect(await called('--dry-run', '--dry-run')).toBe('--dry-run is given 2 times, but takes one value.')
    expect(await called('--place', '{')).toContain('--place is not valid JSON')
  })
})
