import type { Requirement } from '../requirement.ts'

export const tasksExtensionRules: readonly Requirement[] = [
  {
    places: {
      'sep-2663-tasks-022': '2663-tasks-extension#response-1',
      'sep-2663-tasks-024': '2663-tasks-extension#response-1',
    },
    level: 'MUST',
    of: 'server',
    says: 'An update is acknowledged with nothing, as a complete result; an unknown task is an error.',
    proof: [
      'packages/sdk/test/extensions/tasks/questions.test.ts > waits with its questions, in the form a retry would carry them, and goes on with the answer',
      'packages/sdk/test/extensions/tasks/extension.test.ts > is unknown by %s',
    ],
    runs: {
      everywhere: [
        'a task shows every open question under a key of its own, and takes answers by updates',
        'an unknown task is -32602, and a request about tasks that does not declare them is -32021',
      ],
    },
  },
  {
    places: { 'sep-2663-tasks-023': '2663-tasks-extension#response-1' },
    level: 'SHOULD',
    of: 'server',
    says: 'Answers to what is not open are ignored, and some of several are taken.',
    proof: [
      'packages/sdk/test/extensions/tasks/questions.test.ts > ignores answers to what is not open: never asked, or answered before',
      'packages/sdk/test/extensions/tasks/questions.test.ts > takes answers one by one and leaves only what is open',
    ],
    runs: {
      everywhere: ['a task shows every open question under a key of its own, and takes answers by updates'],
    },
  },
  {
    places: { 'sep-2663-tasks-025': '2663-tasks-extension#task-cancellation' },
    level: 'MUST NOT',
    of: 'both',
    says: 'A task is cancelled by its own request, not by a notice.',
    proof: [
      'packages/sdk/test/extensions/tasks/extension.test.ts > is not what a notice of cancellation does',
      'packages/sdk/test/extensions/tasks/client.test.ts > cancels the task when its caller gives up',
    ],
    runs: {
      everywhere: [
        'cancelling a task is acknowledged with nothing, stops it, and is done by its own request alone',
        'a client looks at its task until that is over, and answers its questions by updates, each once',
      ],
    },
  },
  {
    places: {
      'sep-2663-tasks-026': '2663-tasks-extension#response-2',
      'sep-2663-tasks-027': '2663-tasks-extension#response-2',
    },
    level: 'MUST',
    of: 'server',
    says: 'Cancelling is acknowledged with nothing, as a complete result; an unknown task is an error.',
    proof: [
      'packages/sdk/test/extensions/tasks/extension.test.ts > stops its handler, is acknowledged with nothing, and stays cancelled though its work is done',
      'packages/sdk/test/extensions/tasks/extension.test.ts > is acknowledged again when it was over already, and changes nothing',
      'packages/sdk/test/extensions/tasks/extension.test.ts > is unknown by %s',
    ],
    runs: {
      everywhere: [
        'cancelling a task is acknowledged with nothing, stops it, and is done by its own request alone',
        'an unknown task is -32602, and a request about tasks that does not declare them is -32021',
      ],
    },
  },
  {
    places: {
      'sep-2663-tasks-028': '2663-tasks-extension#task-status-notifications',
      'sep-2663-tasks-034': '2663-tasks-extension#protocol-errors',
    },
    level: 'MUST',
    of: 'server',
    says: 'Who did not declare the extension cannot listen to tasks: -32021, saying what lacks.',
    proof: [
      'packages/sdk/test/extensions/tasks/listen.test.ts > is refused to a client that did not declare the extension',
    ],
    runs: {
      everywhere: [
        'who listens to a task has declared them, and hears how it stands, but no progress and no log messages',
      ],
    },
  },
  {
    places: { 'sep-2663-tasks-029': '2663-tasks-extension#task-status-notifications' },
    level: 'MUST NOT',
    of: 'server',
    says: 'Progress and log messages of a task are not sent to who listens to it.',
    proof: [
      'packages/sdk/test/extensions/tasks/listen.test.ts > tells every state in full, as a look would show it, until the task is over',
    ],
    runs: {
      everywhere: [
        'who listens to a task has declared them, and hears how it stands, but no progress and no log messages',
      ],
    },
  },
  {
    places: { 'sep-2663-tasks-030': '2663-tasks-extension#streamable-http-routing-headers' },
    level: 'MUST',
    of: 'client',
    says: 'Requests about a task name it in the Mcp-Name header.',
    proof: [
      'packages/sdk/test/extensions/tasks/http.test.ts > are named in the Mcp-Name header of every request about them',
      'packages/sdk/test/extensions/tasks/http.test.ts > are refused under a header that names %s',
    ],
    runs: { only: 'http' },
  },
  {
    places: { 'sep-2663-tasks-031': '2663-tasks-extension#protocol-errors' },
    level: 'MUST',
    of: 'server',
    says: 'Unknown tasks, undeclared extensions and own failures have their codes.',
    proof: [
      'packages/sdk/test/extensions/tasks/extension.test.ts > is unknown by %s',
      'packages/sdk/test/extensions/tasks/extension.test.ts > is not for a client that did not declare the extension: %s',
      'packages/sdk/test/extensions/tasks/listen.test.ts > is refused to a client that did not declare the extension',
      'packages/sdk/test/extensions/tasks/access.test.ts > is so many of one principal, finished ones too',
    ],
    runs: {
      everywhere: [
        'an unknown task is -32602, and a request about tasks that does not declare them is -32021',
      ],
    },
  },
  {
    places: {
      'sep-2663-tasks-032': '2663-tasks-extension#protocol-errors',
      'sep-2663-tasks-033': '2663-tasks-extension#protocol-errors',
    },
    level: 'MUST',
    of: 'server',
    says: 'An unknown task is -32602, whatever is asked about it.',
    proof: ['packages/sdk/test/extensions/tasks/extension.test.ts > is unknown by %s'],
    runs: {
      everywhere: [
        'an unknown task is -32602, and a request about tasks that does not declare them is -32021',
      ],
    },
  },
  {
    places: { 'sep-2663-tasks-035': '2663-tasks-extension#protocol-errors' },
    level: 'MUST',
    of: 'server',
    says: 'Requests about tasks need the extension declared: -32021.',
    proof: [
      'packages/sdk/test/extensions/tasks/extension.test.ts > is not for a client that did not declare the extension: %s',
    ],
    runs: {
      everywhere: [
        'an unknown task is -32602, and a request about tasks that does not declare them is -32021',
      ],
    },
  },
  {
    places: { 'sep-2663-tasks-036': '2663-tasks-extension#protocol-errors' },
    level: 'SHOULD',
    of: 'server',
    says: 'Errors say what is wrong.',
    proof: [
      'packages/sdk/test/extensions/tasks/extension.test.ts > is unknown by %s',
      'packages/sdk/test/extensions/tasks/access.test.ts > is so many of one principal, finished ones too',
      'packages/sdk/test/extensions/tasks/access.test.ts > is so many bytes of arguments, of steps and of a result',
    ],
    runs: {
      everywhere: [
        'an unknown task is -32602, and a request about tasks that does not declare them is -32021',
      ],
    },
  },
  {
    places: {
      'sep-2663-tasks-037': '2663-tasks-extension#task-execution-errors',
      'sep-2663-tasks-039': '2663-tasks-extension#task-execution-errors',
    },
    level: 'MUST',
    of: 'server',
    says: 'A protocol error fails the task, which carries it and says it in words.',
    proof: [
      'packages/sdk/test/extensions/tasks/extension.test.ts > fails with a protocol error, which it carries and puts into words',
    ],
    runs: {
      everywhere: [
        'a failure of a tool completes its task, and an error of the protocol fails it and is said in words',
      ],
    },
  },
  {
    places: { 'sep-2663-tasks-040': '2663-tasks-extension#task-execution-errors' },
    level: 'MUST',
    of: 'server',
    says: 'A result completes the task, also one that says its tool failed.',
    proof: [
      'packages/sdk/test/extensions/tasks/extension.test.ts > completes with a tool’s own failure',
      'packages/sdk/test/extensions/tasks/extension.test.ts > carries the very result its call would have had',
    ],
    runs: {
      everywhere: [
        'a failure of a tool completes its task, and an error of the protocol fails it and is said in words',
      ],
    },
  },
  {
    places: { 'sep-2663-tasks-042': '2663-tasks-extension#ack-only-cancellation' },
    level: 'SHOULD',
    of: 'server',
    says: 'What is plainly wrong is an error, not acknowledged.',
    proof: [
      'packages/sdk/test/extensions/tasks/extension.test.ts > is unknown by %s',
      'packages/sdk/test/extensions/tasks/questions.test.ts > refuses an answer that does not fit, and goes on waiting',
    ],
    runs: {
      everywhere: [
        'a task shows every open question under a key of its own, and takes answers by updates',
        'an unknown task is -32602, and a request about tasks that does not declare them is -32021',
      ],
    },
  },
  {
    places: { 'sep-2663-tasks-044': '2663-tasks-extension#backward-compatibility' },
    level: 'MUST NOT',
    of: 'server',
    says: 'On 2025-11-25 the extension begins no tasks.',
    proof: [
      'packages/sdk/test/extensions/tasks/experimental.test.ts > are not begun by themselves, nor by declaring the later extension',
    ],
    runs: {
      everywhere: [
        'a task begins at the wish of its client alone, working, and is answered with at once',
        'a call becomes a task only where its request declares them, and is then answered with it at once',
      ],
    },
  },
  {
    places: { 'sep-2663-tasks-045': '2663-tasks-extension#backward-compatibility' },
    level: 'MUST NOT',
    of: 'server',
    says: 'Of the older tasks only those made then stay within reach; their methods, params and capabilities are gone.',
    proof: [
      'packages/sdk/test/extensions/tasks/extension.test.ts > has no %s any more',
      'packages/sdk/test/extensions/tasks/extension.test.ts > takes no "task" param for a wish',
      'packages/sdk/test/extensions/tasks/extension.test.ts > is declared as an extension, not as the capability it was',
      'packages/sdk/test/extensions/tasks/extension.test.ts > is refused where the tool runs only as a task and the client cannot follow one',
      'packages/sdk/test/extensions/tasks/experimental.test.ts > stay within reach of a client that has gone on to 2026-07-28 but knows only these',
    ],
    runs: { everywhere: ['of the tasks of 2025-11-25 no method, param or capability is left'] },
  },
  {
    places: { 'sep-2663-tasks-046': '2663-tasks-extension#backward-compatibility' },
    level: 'MUST',
    of: 'client',
    says: 'Who speaks tasks takes a result at once as well.',
    proof: [
      'packages/sdk/test/extensions/tasks/client.test.ts > gets the result of a call whether it became a task or not',
      'packages/sdk/test/extensions/tasks/client.test.ts > hands out the result where the server made no task',
    ],
    runs: {
      everywhere: [
        'a client looks at its task until that is over, and answers its questions by updates, each once',
      ],
    },
  },
  {
    places: { 'sep-2663-tasks-047': '2663-tasks-extension#security-implications' },
    level: 'MUST',
    of: 'server',
    says: 'The id of a task cannot be guessed.',
    proof: [
      'packages/sdk/test/extensions/tasks/extension.test.ts > gives every task an id of its own that nobody can guess',
    ],
    runs: {
      everywhere: [
        'a call becomes a task only where its request declares them, and is then answered with it at once',
      ],
    },
  },
  {
    places: { 'sep-2663-tasks-048': '2663-tasks-extension#security-implications' },
    level: 'MUST',
    of: 'server',
    says: 'Every request about a task is checked for who sends it and what they may.',
    proof: [
      'packages/sdk/test/extensions/tasks/access.test.ts > and does not exist for %s',
      'packages/sdk/test/extensions/tasks/access.test.ts > and its result is for callers who may still use the tool',
    ],
    runs: { only: 'callers' },
  },
  {
    places: { 'sep-2663-tasks-049': '2663-tasks-extension#security-implications' },
    level: 'MUST',
    of: 'host',
    says: 'A task’s questions are trusted no more than others.',
    proof: [
      'packages/sdk/test/extensions/tasks/client.test.ts > holds a task’s questions to the same rules as any other',
    ],
    runs: {
      everywhere: [
        'a client takes a task for a fault where it asked for something else, and holds its questions to the rules',
      ],
    },
  },
]
