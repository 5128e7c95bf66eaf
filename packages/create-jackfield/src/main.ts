import { spawn } from 'node:child_process'
import { relative } from 'node:path'
import { parseArgs } from 'node:util'
import * as clack from '@clack/prompts'
import {
  ownVersion,
  type Project,
  planProject,
  resolveTarget,
  templates,
  UsageError,
  writeProject,
} from './create.ts'

const templateTakenByNpm = 'npm interpreted --template as its own option, because there is no "--" before it'

const help = `Creates a project of Jackfield, an implementation of the Model Context Protocol.

  npm create jackfield <folder> -- --template <template>

Templates:
${Object.entries(templates)
  .map(([name, contents]) => `  ${name.padEnd(7)}${contents}`)
  .join('\n')}

Options:
  --template <template>  the template; asked for on a terminal if left out
  --name <name>          the package name (default: the name of the folder)
  --no-install           do not run npm install in the new folder
  --version              print the version
  --help                 print this text

Exit codes: 0 created; 1 created, but installing failed; 2 wrong usage; 130 cancelled.
`

const exitCode = { installFailed: 1, usage: 2, cancelled: 130 }

/** The user cancelled a question. */
class Cancelled extends Error {}

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  if (error instanceof Cancelled) {
    clack.cancel('Cancelled. Nothing was written.')
    process.exitCode = exitCode.cancelled
  } else if (error instanceof UsageError) {
    process.stderr.write(`${error.message}\n`)
    process.exitCode = exitCode.usage
  } else throw error
}

async function main(args: string[]): Promise<number> {
  const { values, positionals } = parseArguments(args)
  if (values.help === true) {
    process.stdout.write(help)
    return 0
  }
  if (values.version === true) {
    process.stdout.write(`${ownVersion()}\n`)
    return 0
  }
  const [folder, ...others] = positionals
  const [template = ''] = others
  // npm 11 passes the value of an option before "--" on as a word.
  if (others.length === 1 && values.template === undefined && Object.hasOwn(templates, template)) {
    throw new UsageError(
      `${templateTakenByNpm}. Write: npm create jackfield ${folder} -- --template ${template}`,
    )
  }
  if (others.length > 0) {
    throw new UsageError(`Expected one folder; remove "${others.join('", "')}". See --help.`)
  }
  const isAsking = folder === undefined || values.template === undefined
  if (isAsking && !(process.stdin.isTTY && process.stdout.isTTY)) {
    throw new UsageError(missingArguments(folder, values.template))
  }
  if (folder !== undefined) resolveTarget(folder, values.name)
  if (isAsking) clack.intro('Create a project of Jackfield')
  const project = planProject({
    folder: folder ?? (await askFolder(values.name)),
    template: values.template ?? (await askTemplate()),
    name: values.name,
  })
  const manager = packageManager()
  const isInstalling = values['no-install'] !== true && (!isAsking || (await askInstall(manager)))
  const files = writeProject(project)
  process.stdout.write(`Wrote ${files.length} files to ${project.folder}\n`)
  const installed = isInstalling && (await install(manager, project.folder))
  process.stdout.write(nextSteps(project, manager, installed))
  return isInstalling && !installed ? exitCode.installFailed : 0
}

function parseArguments(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        template: { type: 'string', short: 't' },
        name: { type: 'string' },
        'no-install': { type: 'boolean' },
        version: { type: 'boolean', short: 'v' },
        help: { type: 'boolean', short: 'h' },
      },
    })
  } catch (error) {
    // Node.js adds how to pass a word that begins with "-", which no folder here does.
    const [reason] = String(error instanceof Error ? error.message : error).split('. ')
    throw new UsageError(`${reason}. See --help.`)
  }
}

/** The error text if required arguments are missing and there is no terminal to ask for them. */
function missingArguments(folder: string | undefined, template: string | undefined): string {
  const names = [folder === undefined ? 'a folder' : [], template === undefined ? '--template' : []].flat()
  const command = `npm create jackfield ${folder ?? 'my-server'} -- --template ${template ?? 'stdio'}`
  // npm uses options before "--" itself, and passes them on as environment variables only.
  const isTakenByNpm = template === undefined && process.env['npm_config_template'] !== undefined
  const reason = isTakenByNpm ? templateTakenByNpm : 'There is no terminal to ask for them'
  return `Missing: ${names.join(' and ')}. ${reason}. Write: ${command}\nTemplates: ${Object.keys(templates).join(', ')}.`
}

async function askFolder(name: string | undefined): Promise<string> {
  const answer = await clack.text({
    message: 'In which folder?',
    placeholder: 'my-server',
    defaultValue: 'my-server',
    validate(folder) {
      try {
        resolveTarget(folder === undefined || folder === '' ? 'my-server' : folder, name)
      } catch (error) {
        return error instanceof UsageError ? error.message : String(error)
      }
    },
  })
  return requireAnswer(answer)
}

async function askTemplate(): Promise<string> {
  const options = Object.entries(templates).map(([value, hint]) => ({ value, label: value, hint }))
  return requireAnswer(await clack.select({ message: 'Which template?', options }))
}

async function askInstall(manager: string): Promise<boolean> {
  return requireAnswer(await clack.confirm({ message: `Run ${manager} install?` }))
}

/** The answer to a question. @throws Cancelled if the user cancelled it */
function requireAnswer<T extends string | boolean>(answer: T | typeof clack.CANCEL_SYMBOL): T {
  if (clack.isCancel(answer)) throw new Cancelled()
  return answer
}

/** The package manager that runs this program, or npm. */
function packageManager(): string {
  const [, name = 'npm'] = /^(npm|pnpm|yarn|bun)\//.exec(process.env['npm_config_user_agent'] ?? '') ?? []
  return name
}

/** Installs the dependencies of a project and shows the output of the package manager. */
function install(manager: string, folder: string): Promise<boolean> {
  const args = manager === 'npm' ? ['install', '--no-audit', '--no-fund'] : ['install']
  return new Promise((resolve) => {
    const child = spawn(manager, args, {
      cwd: folder,
      stdio: ['ignore', 'inherit', 'inherit'],
      // npm is a script on Windows.
      shell: process.platform === 'win32',
    })
    child.once('error', ({ message }) => {
      process.stderr.write(`Cannot run ${manager} install: ${message}\n`)
      resolve(false)
    })
    child.once('close', (code) => resolve(code === 0))
  })
}

function nextSteps({ folder, template }: Project, manager: string, isInstalled: boolean): string {
  const shown = relative(process.cwd(), folder)
  const run = `${manager} run`
  const steps = [
    ...(shown === '' ? [] : [[`cd ${/\s/.test(shown) ? `"${shown}"` : shown}`, '']]),
    ...(isInstalled ? [] : [[`${manager} install`, '']]),
    ...(template === 'http'
      ? [[`${run} start`, '# serves, and prints a command that calls a tool']]
      : [[`${run} call`, '# calls a tool of the server']]),
    [`${run} test`, '# runs the tests'],
  ]
  const lines = steps.map(([command = '', comment = '']) => `  ${command.padEnd(20)}${comment}`.trimEnd())
  return `\nNext:\n${lines.join('\n')}\n\nREADME.md describes the rest.\n`
}
