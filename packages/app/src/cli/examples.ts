/** Examples of one command, shown in its help. */
interface Examples {
  /** A test runs these with the servers `everything`, `travel` and `files` configured. */
  runnable: readonly string[]
  /** These need a network, a terminal, a file, or an id from another command, and are not run. */
  others?: readonly string[]
}

/** Examples by command, without `jackfield`. */
export const examples: Readonly<Record<string, Examples>> = {
  chat: {
    runnable: [],
    others: [
      'chat',
      'chat "What is in this folder?"',
      'chat --print "Summarize this" < notes.txt',
      'chat --resume',
    ],
  },
  web: {
    runnable: [],
    others: [
      'web',
      'web --no-open',
      'web --port 8080',
      'web --public https://jackfield.example.org --oidc https://login.example.org --client-id jackfield --allow @example.org --listen /run/jackfield/web.sock',
    ],
  },
  start: { runnable: [], others: ['start', 'start --script', 'start --web'] },
  completion: { runnable: ['completion bash', 'completion zsh', 'completion fish'] },
  daemon: { runnable: ['daemon status', 'daemon status --all --json', 'daemon stop'] },
  tasks: { runnable: ['tasks', 'tasks --json'], others: ['tasks result 42', 'tasks cancel 42'] },
  servers: { runnable: ['servers', 'servers --json'], others: ['servers --watch'] },
  tools: { runnable: ['tools travel', 'tools travel.searchFlights', 'tools --meter'] },
  search: { runnable: ['search book a flight', 'search weather --limit 3 --json'] },
  resources: { runnable: ['resources everything', 'resources --tree'] },
  prompts: { runnable: ['prompts travel', 'prompts --json'] },
  find: { runnable: ['find weather', 'find calendar --server travel --limit 5'] },
  call: {
    runnable: [
      'call everything.get-sum 2 3',
      `call 'everything.echo(message: "hi")'`,
      'call everything.get-tiny-image --save-media pictures',
    ],
  },
  read: {
    runnable: [
      'read travel calendar://events/2026',
      'read everything demo://resource/dynamic/text/1 --output markdown',
      'read everything demo://resource/dynamic/blob/1 -o first.bin',
    ],
  },
  prompt: {
    runnable: [
      'prompt everything simple-prompt',
      'prompt everything args-prompt city=Oslo --output markdown',
      'prompt everything args-prompt city=Oslo --preview',
    ],
  },
  complete: {
    runnable: [
      'complete everything completable-prompt department E',
      'complete everything completable-prompt name A department=Engineering',
    ],
  },
  watch: { runnable: [], others: ['watch everything', 'watch everything demo://resource/dynamic/text/1'] },
  run: { runnable: ['run --types'], others: ['run compare-fares.ts', 'run report.ts --max-calls 20'] },
  generate: {
    runnable: [
      'generate client travel --output-file travel.ts',
      'generate cli everything --output-file everything.mjs',
    ],
    others: [
      'generate client travel --output-file travel.ts --check',
      'generate cli -- npx -y @modelcontextprotocol/server-everything',
    ],
  },
  inbox: { runnable: ['inbox', 'inbox --all --json'] },
  respond: {
    runnable: [],
    others: ['respond 4f1c2a9e', 'respond 4f1c2a9e --accept seat=12A', 'respond 4f1c2a9e --decline'],
  },
  'policy rules': { runnable: ['policy', 'policy rules --json'] },
  'policy explain': {
    runnable: [
      'policy explain everything echo message=hi',
      'policy explain travel searchFlights --caller code',
    ],
  },
  'policy preview': { runnable: [`policy preview '{"verdict":"deny","tool":"delete_*"}' --days 7`] },
  'policy grants': { runnable: ['policy grants', 'policy grants --json'] },
  'policy revoke': { runnable: [], others: ['policy revoke 4f1c2a9e77b0'] },
  activity: { runnable: ['activity', 'activity --json', 'activity verify'] },
  trust: { runnable: ['trust', 'trust show everything', 'trust accept everything'] },
  roots: { runnable: ['roots', 'roots add .', 'roots preview files'] },
  sampling: { runnable: ['sampling', 'sampling --json'] },
  log: { runnable: ['log', 'log server:travel since:1h', 'log export jsonl --output log.jsonl'] },
  record: { runnable: ['record trip.json server:travel'] },
  'serve-recording': { runnable: [], others: ['serve-recording trip.json travel'] },
  replay: { runnable: [], others: ['replay 12', 'replay 12 city=Oslo', 'replay 12 --save sum.json'] },
  config: { runnable: ['config', 'config explain travel', 'config list --json'] },
  secret: { runnable: [], others: ['secret list', 'secret set github-token', 'secret remove github-token'] },
  login: { runnable: [], others: ['login github'] },
  logout: { runnable: [], others: ['logout github'] },
  registry: { runnable: [], others: ['registry search weather', 'registry show io.github.ann/weather'] },
  install: {
    runnable: [],
    others: [
      'install io.github.ann/weather',
      'install https://example.org/mcp',
      'install -- npx -y @modelcontextprotocol/server-everything',
    ],
  },
  uninstall: { runnable: [], others: ['uninstall weather'] },
  gateway: { runnable: [], others: ['gateway', 'gateway --config team.json'] },
  doctor: { runnable: ['doctor everything', 'doctor --json'] },
  store: { runnable: [], others: ['store set-aside'] },
}
