import type { Requirement } from '../requirement.ts'

export const tasks2025Life: readonly Requirement[] = [
  {
    places: { '2511-207': 'basic/utilities/tasks#capabilities' },
    level: 'MUST',
    of: 'both',
    says: 'Who takes tasks declares so when the session begins, request by request.',
    proof: [
      'packages/sdk/test/extensions/tasks/experimental.test.ts > are declared as a capability, and by each tool that can be one',
      'packages/sdk/test/extensions/tasks/experimental.test.ts > are no concern of a server without them, which ignores the wish',
      'packages/sdk/test/extensions/tasks/client.test.ts > declares no tasks of its own, and answers at once whatever the server wishes',
    ],
    runs: {
      everywhere: [
        'tasks are declared when a session begins, and by each tool that can be one',
        'a server without tasks serves a call as if none had been asked for',
        'a client that takes no tasks answers at once, whatever the server wishes',
      ],
    },
  },
  {
    places: { '2511-208': 'basic/utilities/tasks#capability-negotiation' },
    level: 'SHOULD',
    of: 'both',
    says: 'Tasks are asked for only where the other side declared them.',
    proof: [
      'packages/sdk/test/extensions/tasks/client.test.ts > asks for a task only where server and tool say they take one',
    ],
    runs: {
      everywhere: [
        'a client asks for a task only where server and tool take one, follows it, and cancels it by its own request',
      ],
    },
  },
  {
    places: { '2511-209': 'basic/utilities/tasks#capability-negotiation' },
    level: 'SHOULD NOT',
    of: 'both',
    says: 'Without the declaration no task is asked for.',
    proof: [
      'packages/sdk/test/extensions/tasks/client.test.ts > asks for a task only where server and tool say they take one',
    ],
    runs: {
      everywhere: [
        'a client asks for a task only where server and tool take one, follows it, and cancels it by its own request',
      ],
    },
  },
  {
    places: { '2511-210': 'basic/utilities/tasks#tool-level-negotiation' },
    level: 'MUST NOT',
    of: 'client',
    says: 'What a tool says of tasks counts only on a server that declared them for calls.',
    proof: [
      'packages/sdk/test/extensions/tasks/client.test.ts > asks for a task only where server and tool say they take one',
    ],
    runs: {
      everywhere: [
        'a client asks for a task only where server and tool take one, follows it, and cancels it by its own request',
      ],
    },
  },
  {
    places: { '2511-211': 'basic/utilities/tasks#tool-level-negotiation' },
    level: 'MUST NOT',
    of: 'client',
    says: 'A tool that does not say it takes tasks is not called as one, and refuses to be.',
    proof: [
      'packages/sdk/test/extensions/tasks/client.test.ts > asks for a task only where server and tool say they take one',
      'packages/sdk/test/extensions/tasks/experimental.test.ts > are refused where the tool says otherwise: %s',
    ],
    runs: {
      everywhere: [
        'a tool is called as a task where it says so, and refuses what it does not say',
        'a client asks for a task only where server and tool take one, follows it, and cancels it by its own request',
      ],
    },
  },
  {
    places: { '2511-212': 'basic/utilities/tasks#tool-level-negotiation' },
    level: 'MUST',
    of: 'both',
    says: 'A tool that takes only tasks is called as one, and refuses anything else with -32601.',
    proof: [
      'packages/sdk/test/extensions/tasks/client.test.ts > asks for a task only where server and tool say they take one',
      'packages/sdk/test/extensions/tasks/experimental.test.ts > are refused where the tool says otherwise: %s',
    ],
    runs: {
      everywhere: [
        'a tool is called as a task where it says so, and refuses what it does not say',
        'a client asks for a task only where server and tool take one, follows it, and cancels it by its own request',
      ],
    },
  },
  {
    places: {
      '2511-213': 'basic/utilities/tasks#getting-tasks',
      '2511-216': 'basic/utilities/tasks#retrieving-task-results',
      '2511-226': 'basic/utilities/tasks#input-required-status',
    },
    level: 'MUST',
    of: 'both',
    says: 'Requests about tasks travel over HTTP like any other.',
    proof: [
      'packages/sdk/test/extensions/tasks/http.test.ts > are looked at without a stream, on %s',
      'packages/sdk/test/extensions/tasks/http.test.ts > ask on the stream that waits for their result, on 2025-11-25',
    ],
    runs: { only: 'http' },
  },
  {
    places: { '2511-214': 'basic/utilities/tasks#getting-tasks' },
    level: 'SHOULD',
    of: 'client',
    says: 'A task is looked at no more often than its server wants.',
    proof: ['packages/sdk/test/extensions/tasks/client.test.ts > looks no more often than the server wants'],
    runs: { everywhere: ['a client looks at a task no more often than its server wants, until it is over'] },
  },
  {
    places: { '2511-215': 'basic/utilities/tasks#getting-tasks' },
    level: 'SHOULD',
    of: 'client',
    says: 'A task is looked at until it is over or has something to ask.',
    proof: [
      'packages/sdk/test/extensions/tasks/client.test.ts > gets the result of a call whether it became a task or not',
      'packages/sdk/test/extensions/tasks/client.test.ts > asks for the result early only when the task has something to ask',
      'packages/sdk/test/extensions/tasks/http.test.ts > are looked at again when a look fails, on %s',
    ],
    runs: {
      everywhere: [
        'a client asks for a task only where server and tool take one, follows it, and cancels it by its own request',
        'a client looks at a task no more often than its server wants, until it is over',
      ],
    },
  },
  {
    places: {
      '2511-217': 'basic/utilities/tasks#task-status-notification',
      '2511-242': 'basic/utilities/tasks#task-notifications',
    },
    level: 'MUST NOT',
    of: 'client',
    says: 'Nobody waits for notices of a task: it is looked at all the same.',
    proof: [
      'packages/sdk/test/extensions/tasks/client.test.ts > gets the result of a call whether it became a task or not',
      'packages/sdk/test/extensions/tasks/http.test.ts > are looked at again when a look fails, on %s',
    ],
    runs: {
      everywhere: [
        'a client asks for a task only where server and tool take one, follows it, and cancels it by its own request',
      ],
    },
  },
  {
    places: { '2511-218': 'basic/utilities/tasks#task-support-and-handling' },
    level: 'MUST',
    of: 'both',
    says: 'Who declared no tasks serves the request as if none had been asked for.',
    proof: [
      'packages/sdk/test/extensions/tasks/experimental.test.ts > are no concern of a server without them, which ignores the wish',
      'packages/sdk/test/extensions/tasks/experimental.test.ts > are unknown to every revision before',
      'packages/sdk/test/extensions/tasks/client.test.ts > declares no tasks of its own, and answers at once whatever the server wishes',
    ],
    runs: {
      everywhere: [
        'a server without tasks serves a call as if none had been asked for',
        'a client that takes no tasks answers at once, whatever the server wishes',
      ],
    },
  },
  {
    places: { '2511-219': 'basic/utilities/tasks#task-id-requirements' },
    level: 'MUST',
    of: 'server',
    says: 'The id of a task is a string.',
    proof: [
      'packages/sdk/test/extensions/tasks/experimental.test.ts > begin at the client’s wish, working, and are answered with the task',
    ],
    runs: {
      everywhere: ['a task begins at the wish of its client alone, working, and is answered with at once'],
    },
  },
  {
    places: { '2511-220': 'basic/utilities/tasks#task-id-requirements' },
    level: 'MUST',
    of: 'server',
    says: 'The id is made by whoever runs the task.',
    proof: [
      'packages/sdk/test/extensions/tasks/extension.test.ts > gives every task an id of its own that nobody can guess',
    ],
    runs: {
      everywhere: ['a task begins at the wish of its client alone, working, and is answered with at once'],
    },
  },
  {
    places: { '2511-221': 'basic/utilities/tasks#task-id-requirements' },
    level: 'MUST',
    of: 'server',
    says: 'No two tasks have one id.',
    proof: [
      'packages/sdk/test/extensions/tasks/extension.test.ts > gives every task an id of its own that nobody can guess',
      'packages/sdk/test/extensions/tasks/store.test.ts > adds no id twice',
    ],
    runs: {
      everywhere: [
        'tasks are listed page by page for who owns them, and for nobody where nobody can be told apart',
      ],
    },
  },
  {
    places: { '2511-222': 'basic/utilities/tasks#task-status-lifecycle' },
    level: 'MUST',
    of: 'server',
    says: 'A task begins as working.',
    proof: [
      'packages/sdk/test/extensions/tasks/experimental.test.ts > begin at the client’s wish, working, and are answered with the task',
      'packages/sdk/test/extensions/tasks/experimental.test.ts > go only the ways there are: to and fro, until they are over',
    ],
    runs: {
      everywhere: ['a task begins at the wish of its client alone, working, and is answered with at once'],
    },
  },
  {
    places: { '2511-223': 'basic/utilities/tasks#task-status-lifecycle' },
    level: 'MUST NOT',
    of: 'server',
    says: 'A task goes to and fro between working and asking until it is over.',
    proof: [
      'packages/sdk/test/extensions/tasks/experimental.test.ts > go only the ways there are: to and fro, until they are over',
    ],
    runs: {
      everywhere: [
        'a task that asks says so by its status, asks where its result is waited for, and goes on when answered',
      ],
    },
  },
  {
    places: { '2511-224': 'basic/utilities/tasks#task-status-lifecycle' },
    level: 'MUST NOT',
    of: 'server',
    says: 'A task that is over stays as it ended.',
    proof: [
      'packages/sdk/test/extensions/tasks/experimental.test.ts > go only the ways there are: to and fro, until they are over',
      'packages/sdk/test/extensions/tasks/extension.test.ts > stops its handler, is acknowledged with nothing, and stays cancelled though its work is done',
      'packages/sdk/test/extensions/tasks/extension.test.ts > is acknowledged again when it was over already, and changes nothing',
    ],
    runs: {
      everywhere: [
        'a task is cancelled before that is answered, once, and stays so whatever its work still gives',
      ],
    },
  },
  {
    places: { '2511-225': 'basic/utilities/tasks#input-required-status' },
    level: 'SHOULD',
    of: 'both',
    says: 'Looks are answered without a stream; clients take messages from any.',
    proof: [
      'packages/sdk/test/extensions/tasks/http.test.ts > are looked at without a stream, on %s',
      'packages/sdk/test/extensions/tasks/http.test.ts > ask on the stream that waits for their result, on 2025-11-25',
    ],
    runs: { only: 'http' },
  },
  {
    places: { '2511-227': 'basic/utilities/tasks#input-required-status' },
    level: 'SHOULD',
    of: 'server',
    says: 'A task that has something to ask says so by its status.',
    proof: [
      'packages/sdk/test/extensions/tasks/experimental.test.ts > ask on the way to their result, and say which task asks',
      'packages/sdk/test/extensions/tasks/experimental.test.ts > go only the ways there are: to and fro, until they are over',
    ],
    runs: {
      everywhere: [
        'a task that asks says so by its status, asks where its result is waited for, and goes on when answered',
      ],
    },
  },
  {
    places: { '2511-228': 'basic/utilities/tasks#input-required-status' },
    level: 'MUST',
    of: 'server',
    says: 'A question names the task it belongs to.',
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
    places: { '2511-229': 'basic/utilities/tasks#input-required-status' },
    level: 'SHOULD',
    of: 'client',
    says: 'When a task has something to ask, its result is asked for at once.',
    proof: [
      'packages/sdk/test/extensions/tasks/client.test.ts > asks for the result early only when the task has something to ask',
    ],
    runs: {
      everywhere: [
        'a client asks for a task only where server and tool take one, follows it, and cancels it by its own request',
      ],
    },
  },
  {
    places: { '2511-230': 'basic/utilities/tasks#input-required-status' },
    level: 'SHOULD',
    of: 'server',
    says: 'Once all is answered the task works again.',
    proof: [
      'packages/sdk/test/extensions/tasks/experimental.test.ts > go only the ways there are: to and fro, until they are over',
    ],
    runs: {
      everywhere: [
        'a task that asks says so by its status, asks where its result is waited for, and goes on when answered',
      ],
    },
  },
  {
    places: {
      '2511-231': 'basic/utilities/tasks#ttl-and-resource-management',
      '2511-232': 'basic/utilities/tasks#ttl-and-resource-management',
    },
    level: 'MUST',
    of: 'server',
    says: 'Every answer says when a task was created and when it last changed.',
    proof: [
      'packages/sdk/test/extensions/tasks/experimental.test.ts > begin at the client’s wish, working, and are answered with the task',
      'packages/sdk/test/extensions/tasks/experimental.test.ts > are listed page by page',
      'packages/sdk/test/extensions/tasks/experimental.test.ts > are cancelled before that is answered, once',
    ],
    runs: {
      everywhere: [
        'a task begins at the wish of its client alone, working, and is answered with at once',
        'tasks are listed page by page for who owns them, and for nobody where nobody can be told apart',
      ],
    },
  },
  {
    places: { '2511-233': 'basic/utilities/tasks#ttl-and-resource-management' },
    level: 'MUST',
    of: 'server',
    says: 'A look says how long the task is really kept.',
    proof: [
      'packages/sdk/test/extensions/tasks/access.test.ts > is what a client of 2025-11-25 asks for, up to a bound',
    ],
    runs: {
      everywhere: ['a task begins at the wish of its client alone, working, and is answered with at once'],
    },
  },
]
