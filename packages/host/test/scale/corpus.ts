import type { Tool } from '@jackfield/sdk'
import type { CatalogTool } from '../../src/types/index.ts'

type Naming = 'snake' | 'camel' | 'kebab' | 'dotted'

interface Shop {
  naming: Naming
  /** What the product is, for the middle of descriptions. */
  about: string
  verbs: readonly Verb[]
  /** Nouns with what each is and its parameters. */
  nouns: Record<string, readonly [what: string, ...parameters: string[]]>
}

type Verb = keyof typeof sayings

/** How authors say what a tool does; which way is taken depends on the server. */
const sayings = {
  create: [
    'Creates %s in %p. Returns the new one with its identifier and the time it was made.',
    'Make %s. Fails if one with the same key exists in %p.',
    'Adds %s to %p and gives back a link to it.',
  ],
  get: [
    'Gets %s from %p by its identifier, with all of its fields.',
    'Fetch the details of %s. Fields without a value are left out.',
    'Reads %s. Answers with an error where there is none in %p.',
  ],
  list: [
    'Lists every entry of the kind: %s. Results come in pages, newest first.',
    'Returns all that %p has of this: %s. Can be filtered and sorted.',
    'Enumerates %s, page after page, in the order they were made.',
  ],
  update: [
    'Updates %s in %p. Fields that are not given stay as they are.',
    'Change %s; only what you pass is modified.',
    'Modifies %s and answers with how it stands afterwards.',
  ],
  delete: [
    'Deletes %s from %p for good. This cannot be undone.',
    'Remove %s. It goes to the bin for thirty days.',
    'Destroys %s together with everything that belongs to it.',
  ],
  search: [
    'Full-text search over %p for %s. Returns the best matches with a score.',
    'Query for %s with free words and operators.',
    'Looks for %s by text and filters.',
  ],
  send: [
    'Sends %s through %p at once.',
    'Deliver %s to the recipients. There is no way to take it back.',
    'Posts %s and gives its identifier.',
  ],
  close: ['Closes %s in %p and notes the reason.', 'Mark %s as done.', 'Resolves %s.'],
  assign: [
    'Assigns %s to a member of the team.',
    'Set who is responsible for %s.',
    'Hands %s over to somebody in %p.',
  ],
  cancel: [
    'Cancels %s. Whoever takes part is told.',
    'Calls off %s in %p, with an optional reason.',
    'Aborts %s before it takes effect.',
  ],
  run: ['Runs %s in %p and waits for the outcome.', 'Execute %s.', 'Starts %s and streams its progress.'],
  export: [
    'Exports %s from %p as a file (CSV or JSON).',
    'Download %s in a portable format.',
    'Saves %s as a file that other programs can open.',
  ],
  share: [
    'Shares %s with people or groups, with a role.',
    'Grant somebody access to %s.',
    'Invites others to %s in %p.',
  ],
  analyze: [
    'Analyses %s and reports figures over a period of time.',
    'Computes statistics of %s in %p.',
    'Gives trends and totals for %s.',
  ],
} as const

const shops: Record<string, Shop> = {
  github: {
    naming: 'snake',
    about: 'the GitHub code hosting service',
    verbs: ['create', 'get', 'list', 'update', 'close'],
    nouns: {
      issue: ['an issue of a repository', 'repo: owner and name of the repository', 'title', 'labels'],
      pull_request: [
        'a pull request that proposes to merge a branch',
        'repo',
        'head: the branch with the changes',
        'base: the branch to merge into',
      ],
      workflow_run: [
        'a run of an Actions workflow (CI)',
        'repo',
        'workflow: file name of the workflow',
        'ref',
      ],
      release: ['a published release with notes and assets', 'repo', 'tag', 'notes'],
      code_review: ['a review with remarks on lines of a change', 'repo', 'number', 'body'],
    },
  },
  gitlab: {
    naming: 'kebab',
    about: 'the GitLab instance',
    verbs: ['create', 'get', 'list', 'delete', 'run'],
    nouns: {
      'merge-request': [
        'a merge request between two branches',
        'project: path of the project',
        'source',
        'target',
      ],
      pipeline: ['a CI/CD pipeline of jobs', 'project', 'ref: branch or tag', 'variables'],
      snippet: ['a snippet of text with syntax highlighting', 'project', 'content', 'visibility'],
      'protected-branch': ['a protection rule of a branch', 'project', 'branch', 'level: who may push'],
      runner: ['a runner, the machine that executes jobs', 'tags', 'paused'],
    },
  },
  slack: {
    naming: 'snake',
    about: 'the Slack workspace',
    verbs: ['create', 'list', 'update', 'send', 'search'],
    nouns: {
      message: ['a message in a channel or thread', 'channel: identifier of the channel', 'text', 'thread'],
      channel: ['a channel, public or private', 'name', 'topic', 'private'],
      reminder: ['a reminder for somebody', 'user', 'when: time in plain words', 'text'],
      emoji_reaction: ['an emoji reaction to a message', 'channel', 'timestamp', 'emoji'],
      user_group: ['a group of users that can be mentioned', 'handle', 'members'],
    },
  },
  mail: {
    naming: 'camel',
    about: 'the mailbox',
    verbs: ['get', 'list', 'delete', 'send', 'search'],
    nouns: {
      Email: ['an e-mail with its attachments', 'to: addresses of recipients', 'subject', 'body', 'cc'],
      Draft: ['a draft that was not sent yet', 'subject', 'body'],
      Signature: ['a signature that is put under letters', 'html', 'default'],
      FilterRule: ['a rule that sorts incoming mail into folders', 'from', 'contains', 'folder'],
      AutoReply: ['an automatic out-of-office answer', 'from: first day', 'until: last day', 'text'],
    },
  },
  calendar: {
    naming: 'dotted',
    about: 'the calendar',
    verbs: ['create', 'list', 'update', 'cancel', 'share'],
    nouns: {
      events: ['an event with a time, a place and guests', 'start: ISO 8601', 'end', 'attendees', 'location'],
      freebusy: ['times at which people are free or busy', 'people', 'between'],
      rooms: ['a meeting room that can be reserved', 'building', 'capacity', 'equipment'],
      recurrences: ['a series of events that repeats', 'rule: RRULE', 'until'],
      holidays: ['a public holiday of a country', 'country', 'year'],
    },
  },
  drive: {
    naming: 'camel',
    about: 'the cloud drive',
    verbs: ['create', 'get', 'search', 'export', 'share'],
    nouns: {
      Document: ['a text document', 'title', 'content: markdown', 'folder'],
      Spreadsheet: ['a spreadsheet with sheets of cells', 'title', 'range: such as A1:D20', 'values'],
      Presentation: ['a deck of slides', 'title', 'template'],
      Folder: ['a folder that holds other items', 'name', 'parent'],
      FormSurvey: ['a form with questions, and its answers', 'title', 'questions'],
    },
  },
  jira: {
    naming: 'snake',
    about: 'Jira',
    verbs: ['create', 'get', 'assign', 'close', 'search'],
    nouns: {
      ticket: ['a ticket of a project (bug, story, task)', 'project: key', 'summary', 'priority'],
      sprint: ['a sprint of a scrum board', 'board', 'goal', 'start', 'end'],
      epic: ['an epic that gathers stories', 'project', 'name', 'color'],
      worklog: ['time that was spent on a ticket', 'ticket', 'spent: such as 2h 30m', 'day'],
      component: ['a component that a project is divided into', 'project', 'name', 'lead'],
    },
  },
  postgres: {
    naming: 'snake',
    about: 'the PostgreSQL database',
    verbs: ['create', 'get', 'list', 'run', 'export'],
    nouns: {
      sql_query: ['an SQL statement', 'sql', 'parameters', 'timeout_ms'],
      table: ['a table with columns and constraints', 'schema', 'name', 'columns'],
      index: ['an index that makes lookups fast', 'table', 'columns', 'method: btree, gin or gist'],
      backup: ['a dump of a database', 'database', 'compress'],
      slow_statement: ['a statement that takes long, with its plan', 'since', 'least_ms'],
    },
  },
  files: {
    naming: 'snake',
    about: 'the local disk',
    verbs: ['create', 'get', 'list', 'delete', 'search'],
    nouns: {
      file: ['a file with its contents', 'path: absolute path', 'content', 'encoding'],
      directory: ['a directory', 'path', 'recursive'],
      symlink: ['a symbolic link', 'path', 'target'],
      archive_zip: ['a zip archive of files', 'paths', 'output'],
      file_permissions: ['owner and mode bits of a file', 'path', 'mode: octal'],
    },
  },
  browser: {
    naming: 'kebab',
    about: 'a Chromium browser',
    verbs: ['create', 'get', 'list', 'close', 'run'],
    nouns: {
      tab: ['a tab with a web page', 'url', 'background'],
      screenshot: ['a picture of the visible page', 'selector: CSS', 'full_page'],
      'form-input': ['values typed into a form and its buttons pressed', 'selector', 'value', 'submit'],
      cookie: ['a cookie of a site', 'domain', 'name', 'value'],
      script: ['a piece of JavaScript in the page', 'expression', 'await'],
    },
  },
  weather: {
    naming: 'camel',
    about: 'the weather service',
    verbs: ['get', 'list', 'search', 'analyze', 'export'],
    nouns: {
      Forecast: ['the forecast of temperature, rain and wind for the coming days', 'city', 'days', 'units'],
      CurrentConditions: ['the weather at present', 'city', 'units'],
      StormWarning: ['an official warning of storm, hail or flood', 'region', 'severity'],
      AirQuality: ['fine dust, ozone and pollen in the air', 'latitude', 'longitude'],
      ClimateHistory: ['measurements of past years', 'station', 'from', 'to'],
    },
  },
  maps: {
    naming: 'dotted',
    about: 'the map service',
    verbs: ['get', 'list', 'search', 'analyze', 'share'],
    nouns: {
      directions: [
        'the way from one place to another by car, bike, foot or train',
        'origin',
        'destination',
        'mode',
      ],
      places: ['a shop, restaurant or sight', 'query', 'near', 'open_now'],
      geocodes: ['latitude and longitude of an address', 'address', 'country'],
      elevations: ['the height above the sea', 'points'],
      traffic: ['how dense traffic is on a road', 'road', 'at'],
    },
  },
  stripe: {
    naming: 'snake',
    about: 'Stripe',
    verbs: ['create', 'get', 'list', 'cancel', 'analyze'],
    nouns: {
      payment: ['a payment by card or bank debit', 'amount: in the smallest unit', 'currency', 'customer'],
      refund: ['money given back for a payment', 'payment', 'amount', 'reason'],
      subscription: ['a subscription that renews', 'customer', 'plan', 'trial_days'],
      invoice: ['an invoice with lines and taxes', 'customer', 'lines', 'due'],
      payout: ['money paid out to the bank account', 'amount', 'account'],
    },
  },
  crm: {
    naming: 'camel',
    about: 'the customer relations system',
    verbs: ['create', 'update', 'assign', 'search', 'export'],
    nouns: {
      Contact: ['a person at a company with phone and address', 'name', 'company', 'phone'],
      Opportunity: ['a deal that may be won', 'stage', 'value', 'probability'],
      Account: ['a company that is or may become a customer', 'name', 'industry', 'size'],
      Campaign: ['a marketing campaign', 'channel', 'budget', 'audience'],
      CallNote: ['notes of a telephone call', 'contact', 'text', 'next_step'],
    },
  },
  kubernetes: {
    naming: 'kebab',
    about: 'the Kubernetes cluster',
    verbs: ['get', 'list', 'update', 'delete', 'run'],
    nouns: {
      pod: ['a pod with its containers', 'namespace', 'name'],
      deployment: ['a deployment and how many replicas it has', 'namespace', 'name', 'replicas', 'image'],
      'config-map': ['a config map of settings', 'namespace', 'name', 'data'],
      'pod-logs': ['what containers of a pod wrote to their logs', 'namespace', 'pod', 'since'],
      'cron-job': ['a job that starts on a schedule', 'namespace', 'schedule: cron', 'image'],
    },
  },
  s3: {
    naming: 'snake',
    about: 'S3 object storage',
    verbs: ['create', 'get', 'list', 'delete', 'share'],
    nouns: {
      bucket: ['a bucket', 'name', 'region'],
      object: ['an object (blob) under a key', 'bucket', 'key', 'body', 'content_type'],
      lifecycle_rule: ['a rule that expires old objects', 'bucket', 'prefix', 'days'],
      presigned_url: ['a link that lets anybody fetch an object for a while', 'bucket', 'key', 'seconds'],
      object_version: ['an earlier version of an object', 'bucket', 'key', 'version'],
    },
  },
  sentry: {
    naming: 'snake',
    about: 'Sentry',
    verbs: ['get', 'list', 'assign', 'close', 'analyze'],
    nouns: {
      crash_report: ['an exception with its stack trace', 'project', 'event', 'environment'],
      alert_rule: ['a rule that tells people when errors rise', 'project', 'threshold', 'notify'],
      performance_trace: ['a trace of how long spans of a request took', 'project', 'transaction'],
      session_replay: ['a recording of what a visitor did', 'project', 'replay'],
      release_health: ['the share of sessions without crashes in a version', 'project', 'version'],
    },
  },
  spotify: {
    naming: 'camel',
    about: 'the music service',
    verbs: ['get', 'list', 'search', 'run', 'share'],
    nouns: {
      Track: ['a song', 'artist', 'title', 'uri'],
      Playlist: ['a playlist', 'name', 'tracks', 'public'],
      Podcast: ['an episode of a podcast', 'show', 'episode'],
      Playback: ['what is playing, and on which loudspeaker', 'device', 'volume', 'shuffle'],
      Artist: ['a musician or band with their albums', 'name'],
    },
  },
  home: {
    naming: 'snake',
    about: 'the smart home',
    verbs: ['get', 'list', 'update', 'run', 'analyze'],
    nouns: {
      light: ['a lamp: on, off, brightness and colour', 'room', 'on', 'brightness', 'color'],
      thermostat: ['the heating of a room', 'room', 'target: degrees'],
      door_lock: ['the lock of a door', 'door', 'locked'],
      vacuum_robot: ['the robot that cleans the floor', 'room', 'mode'],
      energy_meter: ['how much electricity is used', 'circuit', 'since'],
    },
  },
  hr: {
    naming: 'dotted',
    about: 'the personnel system',
    verbs: ['create', 'get', 'update', 'cancel', 'export'],
    nouns: {
      employees: ['an employee with role, manager and contract', 'name', 'role', 'manager'],
      leave_requests: ['a request for days off', 'employee', 'from', 'to', 'kind'],
      payslips: ['the pay slip of a month', 'employee', 'month'],
      job_postings: ['an open position that people can apply for', 'title', 'department', 'location'],
      interviews: ['an interview with an applicant', 'applicant', 'at', 'panel'],
    },
  },
}

const fill = [
  'It must be written exactly as the listing shows it; capital letters count.',
  'Leave it out for the default of the account that is signed in.',
  'Several can be given, separated by commas; at most fifty are taken.',
  'Where it is not known, ask the person and do not guess.',
]

function nameOf(naming: Naming, verb: string, noun: string): string {
  if (naming === 'camel') return `${verb}${noun}`
  if (naming === 'dotted') return `${noun}.${verb}`
  return naming === 'kebab' ? `${verb}-${noun}` : `${verb}_${noun}`
}

function make(server: string, shop: Shop, verb: Verb, noun: string, n: number): Tool {
  const [what = '', ...parameters] = shop.nouns[noun] ?? []
  const ways = sayings[verb]
  const way = ways[n % ways.length] ?? ''
  const properties = [
    ...parameters,
    'page_size: how many at once',
    'dry_run: only say what would happen',
  ].map((text, at) => {
    const [name = '', description = `The ${text.replaceAll('_', ' ')} of it.`] = text.split(': ')
    return [name, { type: 'string', description: `${description}. ${fill[(n + at) % fill.length]}` }] as const
  })
  return {
    name: nameOf(shop.naming, verb, noun),
    description: way.replace('%s', what).replace('%p', shop.about),
    inputSchema: {
      type: 'object',
      properties: Object.fromEntries(properties),
      required: properties.slice(0, 1).map(([name]) => name),
      additionalProperties: false,
      description: `What ${server} needs to know.`,
    },
  }
}

/** Tools of twenty servers, twenty-five each, by server. */
export const corpus: ReadonlyMap<string, readonly Tool[]> = new Map(
  Object.entries(shops).map(([server, shop], at) => [
    server,
    Object.keys(shop.nouns).flatMap((noun) => shop.verbs.map((verb) => make(server, shop, verb, noun, at))),
  ]),
)

/** The same as a host lists them. */
export const corpusTools: readonly CatalogTool[] = [...corpus].flatMap(([server, tools]) =>
  tools.map((tool) => ({ name: `${server}__${tool.name}`.replaceAll('.', '_'), server, tool })),
)
