import type { Requirement } from '../requirement.ts'

export const tasksExtensionRequests: readonly Requirement[] = [
  {
    places: { 'sep-2663-tasks-001': '2663-tasks-extension#motivation' },
    level: 'MUST NOT',
    of: 'reader',
    says: 'Why the older tasks were hard to ask for.',
    none: 'Describes 2025-11-25, whose own sentences have rows.',
  },
  {
    places: { 'sep-2663-tasks-002': '2663-tasks-extension#capability-negotiation' },
    level: 'MUST NOT',
    of: 'both',
    says: 'Only a request that declares the extension is answered with a task; whoever declares it takes either, for calls only.',
    proof: [
      'packages/sdk/test/extensions/tasks/extension.test.ts > runs as a call for a client that did not declare the extension',
      'packages/sdk/test/extensions/tasks/extension.test.ts > is told by each request, not by what an earlier one declared',
      'packages/sdk/test/extensions/tasks/client.test.ts > gets the result of a call whether it became a task or not',
      'packages/sdk/test/extensions/tasks/client.test.ts > takes a task in answer to anything but a tool call for a fault',
    ],
    runs: {
      everywhere: [
        'a call becomes a task only where its request declares them, and is then answered with it at once',
        'a client takes a task for a fault where it asked for something else, and holds its questions to the rules',
      ],
    },
  },
  {
    places: { 'sep-2663-tasks-003': '2663-tasks-extension#capability-negotiation' },
    level: 'MUST',
    of: 'server',
    says: 'What can only run as a task is refused with -32021 to whoever did not declare the extension.',
    proof: [
      'packages/sdk/test/extensions/tasks/extension.test.ts > is refused where the tool runs only as a task and the client cannot follow one',
    ],
    runs: {
      everywhere: [
        'a call becomes a task only where its request declares them, and is then answered with it at once',
      ],
    },
  },
  {
    places: { 'sep-2663-tasks-004': '2663-tasks-extension#supported-methods' },
    level: 'SHOULD',
    of: 'both',
    says: 'Other requests may become tasks one day.',
    none: 'Asks how code is laid out, which no test sees.',
  },
  {
    places: { 'sep-2663-tasks-005': '2663-tasks-extension#polymorphic-results' },
    level: 'MUST NOT',
    of: 'server',
    says: 'The answer that makes a task has the type task, and no other has.',
    proof: [
      'packages/sdk/test/extensions/tasks/extension.test.ts > is answered at once with the task, flat, and nothing else',
      'packages/sdk/test/extensions/tasks/extension.test.ts > stops its handler, is acknowledged with nothing, and stays cancelled though its work is done',
      'packages/sdk/test/extensions/tasks/questions.test.ts > waits with its questions, in the form a retry would carry them, and goes on with the answer',
    ],
    runs: {
      everywhere: [
        'a call becomes a task only where its request declares them, and is then answered with it at once',
        'cancelling a task is acknowledged with nothing, stops it, and is done by its own request alone',
      ],
    },
  },
  {
    places: { 'sep-2663-tasks-006': '2663-tasks-extension#task-status' },
    level: 'MUST',
    of: 'client',
    says: 'A task’s questions are read and answered.',
    proof: [
      'packages/sdk/test/extensions/tasks/client.test.ts > answers what a task asks, each question once',
    ],
    runs: {
      everywhere: [
        'a client looks at its task until that is over, and answers its questions by updates, each once',
      ],
    },
  },
  {
    places: {
      'sep-2663-tasks-007': '2663-tasks-extension#task-status',
      'sep-2663-tasks-038': '2663-tasks-extension#task-execution-errors',
    },
    level: 'MUST NOT',
    of: 'server',
    says: 'A tool’s own failure is a result; only protocol errors fail a task.',
    proof: [
      'packages/sdk/test/extensions/tasks/extension.test.ts > completes with a tool’s own failure',
      'packages/sdk/test/extensions/tasks/extension.test.ts > fails with a protocol error, which it carries and puts into words',
    ],
    runs: {
      everywhere: [
        'a failure of a tool completes its task, and an error of the protocol fails it and is said in words',
      ],
    },
  },
  {
    places: {
      'sep-2663-tasks-008': '2663-tasks-extension#task-creation',
      'sep-2663-tasks-041': '2663-tasks-extension#task-creation-consistency',
    },
    level: 'MUST NOT',
    of: 'server',
    says: 'A task can be looked at before it is promised, in every process and after a crash.',
    proof: [
      'packages/sdk/test/extensions/tasks/extension.test.ts > is kept before it is answered',
      'packages/sdk/test/extensions/tasks/takeover.test.ts > is there for every process the moment it was promised',
    ],
    runs: {
      everywhere: [
        'a call becomes a task only where its request declares them, and is then answered with it at once',
      ],
    },
  },
  {
    places: {
      'sep-2663-tasks-009': '2663-tasks-extension#task-creation',
      'sep-2663-tasks-043': '2663-tasks-extension#composition-with-multi-round-trip-requests',
    },
    level: 'SHOULD',
    of: 'server',
    says: 'What is asked before a task is asked by retries, and then the task begins.',
    proof: [
      'packages/sdk/test/extensions/tasks/questions.test.ts > asks first by retries, then answers with the task, which remembers all of it',
    ],
    runs: { everywhere: ['what is asked before a task begins is asked by trying again'] },
  },
  {
    places: { 'sep-2663-tasks-010': '2663-tasks-extension#task-polling' },
    level: 'SHOULD',
    of: 'client',
    says: 'A task is looked at no more often than its server wants.',
    proof: ['packages/sdk/test/extensions/tasks/client.test.ts > looks no more often than the server wants'],
    runs: { everywhere: ['a client looks at a task no more often than its server wants, until it is over'] },
  },
  {
    places: { 'sep-2663-tasks-011': '2663-tasks-extension#task-polling' },
    level: 'SHOULD',
    of: 'client',
    says: 'A task is looked at until it is over, by its id also after a restart.',
    proof: [
      'packages/sdk/test/extensions/tasks/client.test.ts > gets the result of a call whether it became a task or not',
      'packages/sdk/test/extensions/tasks/client.test.ts > takes a task up again by its id, on another connection',
      'packages/sdk/test/extensions/tasks/client.test.ts > cancels the task when its caller gives up',
      'packages/sdk/test/extensions/tasks/http.test.ts > are looked at again when a look fails, on %s',
    ],
    runs: {
      everywhere: [
        'a client looks at its task until that is over, and answers its questions by updates, each once',
        'a client looks at a task no more often than its server wants, until it is over',
      ],
    },
  },
  {
    places: {
      'sep-2663-tasks-012': '2663-tasks-extension#response',
      'sep-2663-tasks-018': '2663-tasks-extension#response',
    },
    level: 'MUST',
    of: 'server',
    says: 'A look shows the task as it stands, as a complete result.',
    proof: [
      'packages/sdk/test/extensions/tasks/extension.test.ts > is answered at once with the task, flat, and nothing else',
      'packages/sdk/test/extensions/tasks/extension.test.ts > carries the very result its call would have had',
      'packages/sdk/test/extensions/tasks/questions.test.ts > waits with its questions, in the form a retry would carry them, and goes on with the answer',
    ],
    runs: {
      everywhere: [
        'a call becomes a task only where its request declares them, and is then answered with it at once',
      ],
    },
  },
  {
    places: { 'sep-2663-tasks-013': '2663-tasks-extension#response' },
    level: 'MUST',
    of: 'server',
    says: 'A task at work is shown as working.',
    proof: [
      'packages/sdk/test/extensions/tasks/extension.test.ts > is answered at once with the task, flat, and nothing else',
    ],
    runs: {
      everywhere: [
        'a call becomes a task only where its request declares them, and is then answered with it at once',
      ],
    },
  },
  {
    places: { 'sep-2663-tasks-014': '2663-tasks-extension#response' },
    level: 'MUST',
    of: 'server',
    says: 'A task that asks shows every open question.',
    proof: [
      'packages/sdk/test/extensions/tasks/questions.test.ts > waits with its questions, in the form a retry would carry them, and goes on with the answer',
      'packages/sdk/test/extensions/tasks/questions.test.ts > takes answers one by one and leaves only what is open',
    ],
    runs: {
      everywhere: ['a task shows every open question under a key of its own, and takes answers by updates'],
    },
  },
  {
    places: { 'sep-2663-tasks-015': '2663-tasks-extension#response' },
    level: 'MUST',
    of: 'server',
    says: 'A completed task shows its result.',
    proof: [
      'packages/sdk/test/extensions/tasks/extension.test.ts > carries the very result its call would have had',
    ],
    runs: {
      everywhere: [
        'a call becomes a task only where its request declares them, and is then answered with it at once',
        'a failure of a tool completes its task, and an error of the protocol fails it and is said in words',
      ],
    },
  },
  {
    places: { 'sep-2663-tasks-016': '2663-tasks-extension#response' },
    level: 'MUST',
    of: 'server',
    says: 'A cancelled task is shown as cancelled.',
    proof: [
      'packages/sdk/test/extensions/tasks/extension.test.ts > stops its handler, is acknowledged with nothing, and stays cancelled though its work is done',
    ],
    runs: {
      everywhere: [
        'cancelling a task is acknowledged with nothing, stops it, and is done by its own request alone',
      ],
    },
  },
  {
    places: { 'sep-2663-tasks-017': '2663-tasks-extension#response' },
    level: 'MUST',
    of: 'server',
    says: 'A failed task shows its error.',
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
    places: { 'sep-2663-tasks-019': '2663-tasks-extension#task-update-requests' },
    level: 'SHOULD',
    of: 'client',
    says: 'Questions are answered by updates, and the task is looked at on and on.',
    proof: [
      'packages/sdk/test/extensions/tasks/client.test.ts > answers what a task asks, each question once',
      'packages/sdk/test/extensions/tasks/http.test.ts > are answered again, but not asked again, when an answer is lost',
    ],
    runs: {
      everywhere: [
        'a client looks at its task until that is over, and answers its questions by updates, each once',
      ],
    },
  },
  {
    places: { 'sep-2663-tasks-020': '2663-tasks-extension#task-update-requests' },
    level: 'MUST',
    of: 'client',
    says: 'A task’s question is held to the rules of every other, and put once.',
    proof: [
      'packages/sdk/test/extensions/tasks/client.test.ts > holds a task’s questions to the same rules as any other',
      'packages/sdk/test/extensions/tasks/client.test.ts > answers what a task asks, each question once',
      'packages/sdk/test/extensions/tasks/http.test.ts > are answered again, but not asked again, when an answer is lost',
    ],
    runs: {
      everywhere: [
        'a client looks at its task until that is over, and answers its questions by updates, each once',
        'a client takes a task for a fault where it asked for something else, and holds its questions to the rules',
      ],
    },
  },
  {
    places: { 'sep-2663-tasks-021': '2663-tasks-extension#task-update-requests' },
    level: 'MUST NOT',
    of: 'server',
    says: 'No key of a task stands for two questions.',
    proof: [
      'packages/sdk/test/extensions/tasks/questions.test.ts > uses no key twice, whatever its author called the questions',
    ],
    runs: {
      everywhere: ['a task shows every open question under a key of its own, and takes answers by updates'],
    },
  },
]
