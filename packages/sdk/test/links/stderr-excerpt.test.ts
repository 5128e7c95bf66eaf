import { connect } from '@jackfield/sdk/client'
import { stdio } from '@jackfield/sdk/client/stdio'
import { describe, expect, it } from 'vitest'

const esc = String.fromCharCode(27)

/** The error of a server that writes a text to stderr at its start and exits with code 1. */
async function failureOf(stderr: string): Promise<Error> {
  const program = 'process.stderr.write(process.env.TEXT, () => process.exit(1))'
  const server = stdio({ command: process.execPath, args: ['-e', program], env: { TEXT: stderr } })
  return connect(server).then(
    () => {
      throw new Error('The server did not exit')
    },
    (error) => error,
  )
}

const written: [what: string, stderr: string, excerpt: string][] = [
  [
    'an uncaught error of Node',
    `/app/server.js:12
  throw new TypeError("no key")
  ^

TypeError: no key
    at main (/app/server.js:12:9)
    at Module._compile (node:internal/modules/cjs/loader:1554:14) {
  code: 'NO_KEY',
  [cause]: Error: inner
      at /app/server.js:3:1
}

Node.js v24.21.0
`,
    'TypeError: no key (/app/server.js:12)',
  ],
  [
    'an ES module that Node runs as CommonJS',
    `(node:26532) Warning: Failed to load the ES module: /app/server.ts. Make sure to set "type": "module" in the nearest package.json file or use the .mjs extension.
(Use \`node --trace-warnings ...\` to show where the warning was created)
/app/server.ts:1
import { x } from "node:fs"
^^^^^^

SyntaxError: Cannot use import statement outside a module
    at wrapSafe (node:internal/modules/cjs/loader:1861:18)

Node.js v24.21.0
`,
    'SyntaxError: Cannot use import statement outside a module (/app/server.ts:1). Make sure to set "type": "module" in the nearest package.json file or use the .mjs extension.',
  ],
  [
    'a module that Node cannot find',
    `node:internal/modules/cjs/loader:1210
  throw err;
  ^

Error: Cannot find module './nope.js'
Require stack:
- /app/server.js
    at Module._resolveFilename (node:internal/modules/cjs/loader:1207:15) {
  code: 'MODULE_NOT_FOUND',
  requireStack: [ '/app/server.js' ]
}

Node.js v24.21.0
`,
    "Error: Cannot find module './nope.js' Require stack: - /app/server.js",
  ],
  [
    'an error of syntax in TypeScript',
    `node:internal/modules/run_main:107
    triggerUncaughtException(
    ^

file:///app/server.ts:4
  c: 2
  ^

SyntaxError [ERR_INVALID_TYPESCRIPT_SYNTAX]: Expected ',', got 'ident'
    at parseTypeScript (node:internal/modules/typescript:68:40)

Node.js v24.21.0
`,
    "SyntaxError [ERR_INVALID_TYPESCRIPT_SYNTAX]: Expected ',', got 'ident' (/app/server.ts:4)",
  ],
  [
    'an error that a package throws, by the line that calls it',
    `file:///app/node_modules/@jackfield/sdk/dist/base.js:66
	return new McpError("INVALID", message, options);
	       ^

McpError: Server "a" needs a version
    at invalid (file:///app/node_modules/@jackfield/sdk/dist/base.js:66:9)
    at file:///app/src/server.ts:7:11
    at ModuleJob.run (node:internal/modules/esm/module_job:561:25) {
  code: 'INVALID'
}
`,
    'McpError: Server "a" needs a version (/app/src/server.ts:7)',
  ],
  [
    'a value that is thrown and not an error',
    `node:internal/process/promises:389
      new UnhandledPromiseRejection(reason);
      ^
{ reason: 5 }

Node.js v24.21.0
`,
    '{ reason: 5 }',
  ],
  [
    'a traceback of Python',
    `INFO starting
Traceback (most recent call last):
  File "/app/server.py", line 4, in <module>
    main()
    ~~~~^^
  File "/app/server.py", line 3, in main
    raise Misconfigured("no key")
app.settings.Misconfigured: no key
`,
    'app.settings.Misconfigured: no key',
  ],
  [
    'an exception group of Python',
    `  + Exception Group Traceback (most recent call last):
  |   File "/app/server.py", line 4, in <module>
  |     asyncio.run(main())
  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/app/server.py", line 3, in main
    |     raise Misconfigured("no key")
    | app.settings.Misconfigured: no key
    +------------------------------------
`,
    'app.settings.Misconfigured: no key',
  ],
  [
    'a package that npx cannot find',
    `npm error code E404
npm error 404 Not Found - GET https://registry.npmjs.org/no-such-server
npm error 404
npm error 404  The requested resource 'no-such-server@*' could not be found.
npm error A complete log of this run can be found in: /root/.npm/_logs/debug-0.log
`,
    "npm error code E404 Not Found - GET https://registry.npmjs.org/no-such-server The requested resource 'no-such-server@*' could not be found.",
  ],
  ['a command that a shell cannot find', 'sh: 1: mcp-server: not found\n', 'sh: 1: mcp-server: not found'],
  [
    'a panic of Go',
    `panic: assignment to entry in nil map

goroutine 1 [running]:
main.f(...)
	/app/main.go:2
main.main()
	/app/main.go:3 +0x28
exit status 2
`,
    'panic: assignment to entry in nil map',
  ],
  [
    'an exception of Java with its cause',
    `Exception in thread "main" java.lang.IllegalStateException: cannot start
	at Main.main(Main.java:1)
Caused by: java.io.IOException: no key
	at Main.main(Main.java:1)
	... 3 more
`,
    'Exception in thread "main" java.lang.IllegalStateException: cannot start Caused by: java.io.IOException: no key',
  ],
  [
    'a panic of Rust',
    `
thread 'main' (10573) panicked at src/main.rs:1:42:
no key
note: run with \`RUST_BACKTRACE=1\` environment variable to display a backtrace
`,
    "thread 'main' (10573) panicked at src/main.rs:1:42: no key",
  ],
  [
    'an error that a later message explains',
    'ERROR: connection refused\n    at connect (/app/db.js:1:1)\nINFO retrying\nThe database is down, exiting.\n',
    'ERROR: connection refused … The database is down, exiting.',
  ],
  ['a last line', 'reading settings\nSet API_KEY before starting.\n', 'Set API_KEY before starting.'],
  [
    'colours, a title and other control characters',
    `${esc}]0;title${esc}\\${esc}[31mError:${esc}[0m no\u0007 key\u202e\r\n`,
    'Error: no key',
  ],
]

describe('a server that exits at its start', () => {
  it.each(written)('is reported with the relevant lines of stderr: %s', async (_what, stderr, excerpt) => {
    const error = await failureOf(stderr)
    expect(error.message).toBe(
      `The server process "${process.execPath}" exited with code 1. It wrote to stderr: ${excerpt}`,
    )
    expect(error).toMatchObject({ code: 'CONNECT_FAILED', details: { exitCode: 1 } })
  })

  it('is reported without an excerpt if it wrote nothing to stderr', async () => {
    const error = await failureOf(' \n')
    expect(error.message).toBe(`The server process "${process.execPath}" exited with code 1.`)
  })

  it('is reported with at most 300 characters of stderr', async () => {
    const lines = `Error: ${'é'.repeat(5_000)}\n${'at nowhere\n'.repeat(500)}`
    const { message } = await failureOf(lines)
    expect(message).toContain('It wrote to stderr: ')
    expect(message.slice(message.indexOf('stderr: ') + 8).length).toBeLessThanOrEqual(301)
  })

  it('is reported with an error that precedes many lines of details', async () => {
    const details = Array.from({ length: 200 }, (_, at) => `  field${at}: 'a value of it',`).join('\n')
    const { message } = await failureOf(
      `Error: no key\n    at main (/app/a.js:1:1) {\n${details}\n}\n\nNode.js v24.0.0\n`,
    )
    expect(message).toContain('It wrote to stderr: Error: no key')
  })
})
