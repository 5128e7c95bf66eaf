import type { Requirement } from '../requirement.ts'

export const tasks2025Messages: readonly Requirement[] = [
  {
    places: { '2511-234': 'basic/utilities/tasks#ttl-and-resource-management' },
    level: 'SHOULD',
    of: 'client',
    says: 'The time between looks is the one that was suggested.',
    proof: ['packages/sdk/test/extensions/tasks/client.test.ts > looks no more often than the server wants'],
    runs: { everywhere: ['a client looks at a task no more often than its server wants, until it is over'] },
  },
  {
    places: { '2511-235': 'basic/utilities/tasks#result-retrieval' },
    level: 'MUST',
    of: 'server',
    says: 'A call that becomes a task is answered with the task, without waiting for its end.',
    proof: [
      'packages/sdk/test/extensions/tasks/experimental.test.ts > begin at the client’s wish, working, and are answered with the task',
    ],
    runs: {
      everywhere: ['a task begins at the wish of its client alone, working, and is answered with at once'],
    },
  },
  {
    places: { '2511-236': 'basic/utilities/tasks#result-retrieval' },
    level: 'MUST',
    of: 'server',
    says: 'The result of a task that is over is what its request ended with, an error too.',
    proof: [
      'packages/sdk/test/extensions/tasks/experimental.test.ts > give the very result of the call, tied to the task, again and again',
      'packages/sdk/test/extensions/tasks/experimental.test.ts > fail with a protocol error, and give that error',
      'packages/sdk/test/extensions/tasks/experimental.test.ts > fail with a tool that failed, and give its result',
    ],
    runs: {
      everywhere: [
        'the result of a task is the very one of its request, tied to the task, and waited for',
        'a task whose request failed has failed, says how, and gives what it failed with',
      ],
    },
  },
  {
    places: { '2511-237': 'basic/utilities/tasks#result-retrieval' },
    level: 'MUST',
    of: 'server',
    says: 'Who asks for the result early waits until the task is over.',
    proof: [
      'packages/sdk/test/extensions/tasks/experimental.test.ts > have their result waited for',
      'packages/sdk/test/extensions/tasks/experimental.test.ts > ask on the way to their result, and say which task asks',
    ],
    runs: {
      everywhere: ['the result of a task is the very one of its request, tied to the task, and waited for'],
    },
  },
  {
    places: { '2511-238': 'basic/utilities/tasks#result-retrieval' },
    level: 'MUST',
    of: 'server',
    says: 'The result is the very one the request would have had.',
    proof: [
      'packages/sdk/test/extensions/tasks/experimental.test.ts > give the very result of the call, tied to the task, again and again',
      'packages/sdk/test/extensions/tasks/experimental.test.ts > fail with a protocol error, and give that error',
    ],
    runs: {
      everywhere: [
        'the result of a task is the very one of its request, tied to the task, and waited for',
        'a task whose request failed has failed, says how, and gives what it failed with',
      ],
    },
  },
  {
    places: {
      '2511-239': 'basic/utilities/tasks#associating-task-related-messages',
      '2511-252': 'basic/utilities/tasks#related-task-metadata',
    },
    level: 'MUST',
    of: 'both',
    says: 'Every message about a task names it in its metadata.',
    proof: [
      'packages/sdk/test/extensions/tasks/experimental.test.ts > ask on the way to their result, and say which task asks',
      'packages/sdk/test/extensions/tasks/experimental.test.ts > give the very result of the call, tied to the task, again and again',
      'packages/sdk/test/extensions/tasks/client.test.ts > says which task its answers belong to',
    ],
    runs: {
      everywhere: [
        'the result of a task is the very one of its request, tied to the task, and waited for',
        'a task that asks says so by its status, asks where its result is waited for, and goes on when answered',
        'a client asks for a task only where server and tool take one, follows it, and cancels it by its own request',
      ],
    },
  },
  {
    places: { '2511-240': 'basic/utilities/tasks#associating-task-related-messages' },
    level: 'MUST',
    of: 'server',
    says: 'A question a tool asks within a task names that task.',
    proof: [
      'packages/sdk/test/extensions/tasks/experimental.test.ts > ask on the way to their result, and say which task asks',
      'packages/sdk/test/extensions/tasks/client.test.ts > says which task its answers belong to',
    ],
    runs: {
      everywhere: [
        'a task that asks says so by its status, asks where its result is waited for, and goes on when answered',
      ],
    },
  },
  {
    places: { '2511-241': 'basic/utilities/tasks#associating-task-related-messages' },
    level: 'MUST',
    of: 'server',
    says: 'The param names the task, whatever the metadata says; looks and lists carry none.',
    proof: [
      'packages/sdk/test/extensions/tasks/experimental.test.ts > ask on the way to their result, and say which task asks',
      'packages/sdk/test/extensions/tasks/experimental.test.ts > give the very result of the call, tied to the task, again and again',
    ],
    runs: {
      everywhere: ['the result of a task is the very one of its request, tied to the task, and waited for'],
    },
  },
  {
    places: { '2511-243': 'basic/utilities/tasks#task-notifications' },
    level: 'SHOULD NOT',
    of: 'server',
    says: 'A notice of status does not name its task a second time.',
    proof: [
      'packages/sdk/test/extensions/tasks/experimental.test.ts > ask on the way to their result, and say which task asks',
    ],
    runs: {
      everywhere: [
        'a task that asks says so by its status, asks where its result is waited for, and goes on when answered',
      ],
    },
  },
  {
    places: {
      '2511-244': 'basic/utilities/tasks#task-listing',
      '2511-245': 'basic/utilities/tasks#task-listing',
    },
    level: 'MUST',
    of: 'server',
    says: 'Tasks are listed in pages, each with a way to the next while there is one.',
    proof: ['packages/sdk/test/extensions/tasks/experimental.test.ts > are listed page by page'],
    runs: {
      everywhere: [
        'tasks are listed page by page for who owns them, and for nobody where nobody can be told apart',
      ],
    },
  },
  {
    places: { '2511-246': 'basic/utilities/tasks#task-listing' },
    level: 'MUST',
    of: 'client',
    says: 'Cursors are given back as they came.',
    none: 'This client has no list of tasks of its own: it finds a task by the id it was given.',
  },
  {
    places: { '2511-247': 'basic/utilities/tasks#task-listing' },
    level: 'MUST',
    of: 'server',
    says: 'Whoever can look at a task finds it in the list.',
    proof: [
      'packages/sdk/test/extensions/tasks/experimental.test.ts > are listed page by page',
      'packages/sdk/test/extensions/tasks/access.test.ts > and lists show each caller their own',
    ],
    runs: {
      everywhere: [
        'tasks are listed page by page for who owns them, and for nobody where nobody can be told apart',
      ],
    },
  },
  {
    places: { '2511-248': 'basic/utilities/tasks#task-cancellation' },
    level: 'MUST',
    of: 'server',
    says: 'A task that is over cannot be cancelled: -32602.',
    proof: [
      'packages/sdk/test/extensions/tasks/experimental.test.ts > are cancelled before that is answered, once',
    ],
    runs: {
      everywhere: [
        'a task is cancelled before that is answered, once, and stays so whatever its work still gives',
      ],
    },
  },
  {
    places: { '2511-249': 'basic/utilities/tasks#task-cancellation' },
    level: 'MUST',
    of: 'server',
    says: 'Cancelling stops the work, and the task is cancelled before that is answered.',
    proof: [
      'packages/sdk/test/extensions/tasks/experimental.test.ts > are cancelled before that is answered, once',
      'packages/sdk/test/extensions/tasks/extension.test.ts > stops its handler, is acknowledged with nothing, and stays cancelled though its work is done',
    ],
    runs: {
      everywhere: [
        'a task is cancelled before that is answered, once, and stays so whatever its work still gives',
      ],
    },
  },
  {
    places: { '2511-250': 'basic/utilities/tasks#task-cancellation' },
    level: 'MUST',
    of: 'server',
    says: 'A cancelled task stays cancelled, whatever its work still gives.',
    proof: [
      'packages/sdk/test/extensions/tasks/extension.test.ts > stops its handler, is acknowledged with nothing, and stays cancelled though its work is done',
      'packages/sdk/test/extensions/tasks/extension.test.ts > stays cancelled when that happened in another process',
    ],
    runs: {
      everywhere: [
        'a task is cancelled before that is answered, once, and stays so whatever its work still gives',
      ],
    },
  },
  {
    places: { '2511-251': 'basic/utilities/tasks#task-cancellation' },
    level: 'SHOULD NOT',
    of: 'client',
    says: 'Nothing is expected of a task after it was cancelled.',
    proof: ['packages/sdk/test/extensions/tasks/client.test.ts > cancels the task when its caller gives up'],
    runs: {
      everywhere: [
        'a client asks for a task only where server and tool take one, follows it, and cancels it by its own request',
      ],
    },
  },
  {
    places: { '2511-253': 'basic/utilities/tasks#related-task-metadata' },
    level: 'MUST',
    of: 'both',
    says: 'Looks, lists and cancelling carry no metadata about the task; a result does.',
    proof: [
      'packages/sdk/test/extensions/tasks/experimental.test.ts > give the very result of the call, tied to the task, again and again',
      'packages/sdk/test/extensions/tasks/experimental.test.ts > begin at the client’s wish, working, and are answered with the task',
    ],
    runs: {
      everywhere: [
        'the result of a task is the very one of its request, tied to the task, and waited for',
        'tasks are listed page by page for who owns them, and for nobody where nobody can be told apart',
      ],
    },
  },
  {
    places: { '2511-254': 'basic/utilities/tasks#protocol-errors' },
    level: 'MUST',
    of: 'server',
    says: 'An unknown id, a bad cursor and cancelling what is over are -32602.',
    proof: [
      'packages/sdk/test/extensions/tasks/experimental.test.ts > are unknown by another id: %s',
      'packages/sdk/test/extensions/tasks/experimental.test.ts > are listed page by page',
      'packages/sdk/test/extensions/tasks/experimental.test.ts > are cancelled before that is answered, once',
    ],
    runs: {
      everywhere: [
        'a task nobody began is unknown, whatever is asked about it',
        'tasks are listed page by page for who owns them, and for nobody where nobody can be told apart',
        'a task is cancelled before that is answered, once, and stays so whatever its work still gives',
      ],
    },
  },
  {
    places: { '2511-255': 'basic/utilities/tasks#protocol-errors' },
    level: 'SHOULD',
    of: 'server',
    says: 'Errors say what is wrong.',
    proof: [
      'packages/sdk/test/extensions/tasks/experimental.test.ts > are unknown by another id: %s',
      'packages/sdk/test/extensions/tasks/experimental.test.ts > are refused where the tool says otherwise: %s',
      'packages/sdk/test/extensions/tasks/experimental.test.ts > are cancelled before that is answered, once',
    ],
    runs: {
      everywhere: [
        'a task nobody began is unknown, whatever is asked about it',
        'a tool is called as a task where it says so, and refuses what it does not say',
        'a task is cancelled before that is answered, once, and stays so whatever its work still gives',
      ],
    },
  },
  {
    places: { '2511-256': 'basic/utilities/tasks#task-execution-errors' },
    level: 'SHOULD',
    of: 'server',
    says: 'A task whose request or tool failed has failed, and says in words how.',
    proof: [
      'packages/sdk/test/extensions/tasks/experimental.test.ts > fail with a tool that failed, and give its result',
      'packages/sdk/test/extensions/tasks/experimental.test.ts > fail with a protocol error, and give that error',
    ],
    runs: { everywhere: ['a task whose request failed has failed, says how, and gives what it failed with'] },
  },
  {
    places: { '2511-257': 'basic/utilities/tasks#task-execution-errors' },
    level: 'MUST',
    of: 'server',
    says: 'The result of a request that ended with an error is that error.',
    proof: [
      'packages/sdk/test/extensions/tasks/experimental.test.ts > fail with a protocol error, and give that error',
    ],
    runs: { everywhere: ['a task whose request failed has failed, says how, and gives what it failed with'] },
  },
  {
    places: { '2511-258': 'basic/utilities/tasks#task-execution-errors' },
    level: 'MUST',
    of: 'server',
    says: 'The result of a request that was answered is that answer.',
    proof: [
      'packages/sdk/test/extensions/tasks/experimental.test.ts > give the very result of the call, tied to the task, again and again',
      'packages/sdk/test/extensions/tasks/experimental.test.ts > fail with a tool that failed, and give its result',
    ],
    runs: {
      everywhere: ['the result of a task is the very one of its request, tied to the task, and waited for'],
    },
  },
  {
    places: { '2511-259': 'basic/utilities/tasks#task-isolation-and-access-control' },
    level: 'MUST',
    of: 'server',
    says: 'A task belongs to the principal who asked for it.',
    proof: [
      'packages/sdk/test/extensions/tasks/access.test.ts > and does not exist for %s',
      'packages/sdk/test/extensions/tasks/access.test.ts > and is not for %s in a session either',
    ],
    runs: { only: 'callers' },
  },
  {
    places: { '2511-260': 'basic/utilities/tasks#task-isolation-and-access-control' },
    level: 'MUST',
    of: 'server',
    says: 'Where nobody can be told apart, ids cannot be guessed and nothing is listed.',
    proof: [
      'packages/sdk/test/extensions/tasks/extension.test.ts > gives every task an id of its own that nobody can guess',
      'packages/sdk/test/extensions/tasks/access.test.ts > and is listed for nobody where nobody can be told apart',
    ],
    runs: {
      everywhere: [
        'tasks are listed page by page for who owns them, and for nobody where nobody can be told apart',
      ],
    },
  },
  {
    places: { '2511-261': 'basic/utilities/tasks#task-isolation-and-access-control' },
    level: 'MUST',
    of: 'server',
    says: 'Other people’s tasks cannot be looked at, waited for, cancelled or listed.',
    proof: [
      'packages/sdk/test/extensions/tasks/access.test.ts > and is not for %s in a session either',
      'packages/sdk/test/extensions/tasks/access.test.ts > and lists show each caller their own',
    ],
    runs: { only: 'callers' },
  },
  {
    places: { '2511-262': 'basic/utilities/tasks#task-isolation-and-access-control' },
    level: 'SHOULD',
    of: 'server',
    says: 'How often tasks are asked about can be bounded.',
    proof: [
      'packages/sdk/test/extensions/tasks/access.test.ts > is so many looks in a while, where a layer says so',
    ],
    runs: { only: 'inside' },
  },
  {
    places: { '2511-263': 'basic/utilities/tasks#resource-management' },
    level: 'SHOULD',
    of: 'server',
    says: 'Tasks are bounded in number, size and time, and what has expired is forgotten.',
    proof: [
      'packages/sdk/test/extensions/tasks/access.test.ts > is so many of one principal, finished ones too',
      'packages/sdk/test/extensions/tasks/access.test.ts > is so many in all',
      'packages/sdk/test/extensions/tasks/access.test.ts > is so many bytes of arguments, of steps and of a result',
      'packages/sdk/test/extensions/tasks/access.test.ts > is so much time: then the task is gone and its handler stopped',
      'packages/sdk/test/extensions/tasks/access.test.ts > is what a client of 2025-11-25 asks for, up to a bound',
    ],
    runs: { only: 'inside' },
  },
  {
    places: { '2511-264': 'basic/utilities/tasks#audit-and-logging' },
    level: 'SHOULD',
    of: 'both',
    says: 'What happens to tasks can be written down, with who asked.',
    proof: [
      'packages/sdk/test/extensions/tasks/extension.test.ts > hears of every task and who asked for it',
    ],
    runs: { only: 'inside' },
  },
  {
    places: { '2511-182': 'basic/utilities/cancellation#behavior-requirements' },
    level: 'MUST',
    of: 'client',
    says: 'A task is cancelled by its own request, not by a notice.',
    proof: [
      'packages/sdk/test/extensions/tasks/client.test.ts > cancels the task when its caller gives up',
      'packages/sdk/test/extensions/tasks/experimental.test.ts > are cancelled before that is answered, once',
    ],
    runs: {
      everywhere: [
        'a task is cancelled before that is answered, once, and stays so whatever its work still gives',
        'a client asks for a task only where server and tool take one, follows it, and cancels it by its own request',
      ],
    },
  },
  {
    places: {
      '2511-201': 'basic/utilities/progress#behavior-requirements',
      '2511-202': 'basic/utilities/progress#behavior-requirements',
    },
    level: 'MUST',
    of: 'server',
    says: 'Progress of a task goes under the token of the call it began with, as long as the task lasts.',
    proof: [
      'packages/sdk/test/extensions/tasks/experimental.test.ts > tell progress under the token of their call, until they are over',
      'packages/sdk/test/extensions/tasks/experimental.test.ts > ask on the way to their result, and say which task asks',
    ],
    runs: { everywhere: ['progress of a task goes under the token of its call, and ends with the task'] },
  },
  {
    places: { '2511-203': 'basic/utilities/progress#behavior-requirements' },
    level: 'MUST',
    of: 'server',
    says: 'There is no progress of a task that is over.',
    proof: [
      'packages/sdk/test/extensions/tasks/experimental.test.ts > tell progress under the token of their call, until they are over',
    ],
    runs: { everywhere: ['progress of a task goes under the token of its call, and ends with the task'] },
  },
  {
    places: { '2511-265': 'basic/utilities/tasks#audit-and-logging' },
    level: 'SHOULD',
    of: 'author',
    says: 'Applications keep a record of their tasks.',
    none: 'Up to the application; `onMessage` shows it every message, and a task hands out its id.',
  },
]
