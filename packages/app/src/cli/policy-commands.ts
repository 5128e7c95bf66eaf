import { type Command, InvalidArgumentError, Option } from 'commander'
import type { ActivityOptions, PruneOptions, VerifyOptions } from '../commands/activity.ts'
import type { CommandContext } from '../commands/context.ts'
import type { ExplainOptions, PolicyOptions, PreviewOptions } from '../commands/policy.ts'
import type { StoreOptions } from '../commands/store.ts'
import type { ExitCode } from './exit.ts'
import type { Io, Output } from './io.ts'
import { jsonOption, storeOption, withConfigOptions } from './options.ts'
import { refuseUnknownWords } from './unknown-word.ts'

/** Where one run of a command writes, and how it says that it is done. */
interface Run {
  output: Output
  end: (code: ExitCode) => void
}

export interface PolicyCommandDeps {
  io: Io
  /** What follows `--`. */
  command: string[] | undefined
  /** Told whether the result is JSON. */
  begin: (json: boolean) => Run
  withServerOptions: (command: Command) => Command
}

const callers = ['chat', 'code', 'app', 'sampling', 'gateway', 'person', 'cli']

/** Adds `policy`, `activity` and `store` with everything under them. */
export function addPolicyCommands(program: Command, deps: PolicyCommandDeps): void {
  addPolicy(program, deps)
  addActivity(program, deps)
  addStore(program, deps)
}

function addPolicy(program: Command, { io, command, begin, withServerOptions }: PolicyCommandDeps): void {
  const load = () => import('../commands/policy.ts')
  const policy = program
    .command('policy')
    .description('what may be called, by which rule, and what is remembered')
  const rules = policy.command('rules', { isDefault: true })
  refuseUnknownWords(policy, rules)
  withConfigOptions(rules)
    .description('every rule, what it says and where it stands')
    .addOption(jsonOption())
    .action(async (options: PolicyOptions) => {
      const { output, end } = begin(options.json === true)
      end(await (await load()).rules(options, io, output))
    })
  withServerOptions(policy.command('explain').usage('[options] <target> <tool> [key=value...]'))
    .description('what policy says about a call, and everything that it follows from; nothing is called')
    .argument('[words...]')
    .addOption(new Option('--caller <caller>', 'who wants it').choices(callers).default('chat'))
    .option('--conversation <id>', 'the conversation it would be in')
    .action(async (words: string[], options: ExplainOptions) => {
      const { output, end } = begin(options.json === true)
      const context: CommandContext<ExplainOptions> = { words, command, options, io, output }
      end(await (await load()).explain(context))
    })
  policy
    .command('preview')
    .usage('[options] <rule>')
    .description('which calls of the activity log a rule would have matched')
    .argument('[rule]', `a rule as in the config: '{"verdict":"deny","tool":"delete_*"}'`)
    .option('--days <count>', 'how far back', positive, 30)
    .addOption(storeOption())
    .addOption(jsonOption())
    .action(async (rule: string | undefined, options: PreviewOptions) => {
      const { output, end } = begin(options.json === true)
      end(await (await load()).preview(rule, options, io, output))
    })
  policy
    .command('grants')
    .description('every answer that is remembered')
    .addOption(storeOption())
    .addOption(jsonOption())
    .action(async (options: PolicyOptions) => {
      const { output, end } = begin(options.json === true)
      end(await (await load()).grants(options, io, output))
    })
  policy
    .command('revoke')
    .usage('[options] <id>')
    .description('take a remembered answer back')
    .argument('[id]', 'its id, or the beginning of it')
    .addOption(storeOption())
    .addOption(jsonOption())
    .action(async (id: string | undefined, options: PolicyOptions) => {
      const { output, end } = begin(options.json === true)
      end(await (await load()).revoke(id, options, io, output))
    })
}

function addActivity(program: Command, { io, begin }: PolicyCommandDeps): void {
  const load = () => import('../commands/activity.ts')
  const activity = program
    .command('activity')
    .description('show what was called, read and asked, and who decided, newest last')
  activity
    .command('list', { isDefault: true })
    .description('the newest rows')
    .option('--server <name>', 'only of this server')
    .option('--limit <count>', 'so many of the newest rows', whole, 50)
    .addOption(storeOption())
    .addOption(jsonOption())
    .action(async (options: ActivityOptions) => {
      const { output, end } = begin(options.json === true)
      end(await (await load()).activity(options, io, output))
    })
  activity
    .command('verify')
    .description('whether the log is as it was written; prints the hash it ends with')
    .option('--head <hash>', 'a hash that was printed before and must still be in the log')
    .addOption(storeOption())
    .addOption(jsonOption())
    .action(async (options: VerifyOptions) => {
      const { output, end } = begin(options.json === true)
      end(await (await load()).verify(options, io, output))
    })
  activity
    .command('prune')
    .description('take the oldest rows away; what is left can still be verified')
    .requiredOption('--before <time>', 'up to the first row of this time or later: 2027-01-31')
    .addOption(storeOption())
    .addOption(jsonOption())
    .action(async (options: PruneOptions) => {
      const { output, end } = begin(options.json === true)
      end(await (await load()).prune(options, io, output))
    })
}

function addStore(program: Command, { io, begin }: PolicyCommandDeps): void {
  program
    .command('store')
    .description('repair the store of the activity log and remembered decisions')
    .command('set-aside')
    .description('rename a damaged store, so that the next command begins a new one; nothing is deleted')
    .addOption(storeOption())
    .addOption(jsonOption())
    .action(async (options: StoreOptions) => {
      const { output, end } = begin(options.json === true)
      const { setAside } = await import('../commands/store.ts')
      end(setAside(options, io, output))
    })
}

function whole(text: string): number {
  const value = Number(text)
  if (Number.isInteger(value) && value > 0) return value
  throw new InvalidArgumentError('It must be a whole number above 0.')
}

function positive(text: string): number {
  const value = Number(text)
  if (Number.isFinite(value) && value > 0) return value
  throw new InvalidArgumentError('It must be a number of days.')
}
