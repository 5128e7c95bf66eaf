import type { ProtocolVersion } from '@jackfield/sdk'

/** A right question of each kind in a revision, with every member that has a type of its own. */
export function questions(revision: ProtocolVersion): readonly { method: string; params: object }[] {
  const isLate = revision >= '2025-11-25'
  const fields = {
    name: { type: 'string', title: 't', description: 'd', minLength: 1, maxLength: 9, format: 'email' },
    age: { type: 'integer', title: 't', minimum: 1, maximum: 9, ...(isLate && { default: 3 }) },
    sure: { type: 'boolean', description: 'd', default: true },
    one: { type: 'string', enum: ['a', 'b'], enumNames: ['A', 'B'] },
    ...(isLate && {
      titled: { type: 'string', oneOf: [{ const: 'a', title: 'A' }], default: 'a' },
      many: { type: 'array', minItems: 0, maxItems: 2, items: { type: 'string', enum: ['a', 'b'] } },
      all: { type: 'array', items: { anyOf: [{ const: 'a', title: 'A' }] }, default: ['a'] },
    }),
  }
  const form = { message: 'm', requestedSchema: { type: 'object', properties: fields, required: ['sure'] } }
  const sample = {
    messages: [
      { role: 'user', content: { type: 'text', text: 'said', annotations: { priority: 1 } } },
      { role: 'assistant', content: { type: 'image', data: 'eA==', mimeType: 'image/png' } },
    ],
    modelPreferences: {
      hints: [{ name: 'n' }],
      costPriority: 0.5,
      speedPriority: 0.5,
      intelligencePriority: 0.5,
    },
    systemPrompt: 's',
    includeContext: 'none',
    temperature: 0.5,
    maxTokens: 9,
    stopSequences: ['x'],
    metadata: { a: 1 },
    ...(isLate && {
      tools: [{ name: 'add', description: 'd', inputSchema: { type: 'object', properties: { a: {} } } }],
      toolChoice: { mode: 'auto' },
    }),
  }
  return [
    { method: 'roots/list', params: {} },
    { method: 'sampling/createMessage', params: sample },
    ...(revision >= '2025-06-18' ? [{ method: 'elicitation/create', params: form }] : []),
    ...(isLate
      ? [
          { method: 'elicitation/create', params: { mode: 'form', ...form } },
          {
            method: 'elicitation/create',
            params: {
              mode: 'url',
              message: 'm',
              url: 'https://a.example/',
              ...(revision === '2025-11-25' && { elicitationId: 'e' }),
            },
          },
        ]
      : []),
  ]
}

/** A right answer of each kind in a revision. */
export function answers(revision: ProtocolVersion): readonly { method: string; result: object }[] {
  const isLate = revision >= '2025-11-25'
  const text = { type: 'text', text: 'said', annotations: { audience: ['user'], priority: 1 } }
  const said = { role: 'assistant', model: 'm', stopReason: 'endTurn' }
  return [
    { method: 'roots/list', result: { roots: [{ uri: 'file:///home', name: 'home' }] } },
    { method: 'sampling/createMessage', result: { ...said, content: text } },
    {
      method: 'sampling/createMessage',
      result: { ...said, content: { type: 'image', data: 'eA==', mimeType: 'a/b' } },
    },
    ...(isLate ? [{ method: 'sampling/createMessage', result: { ...said, content: [text] } }] : []),
    ...(revision >= '2025-06-18'
      ? [
          {
            method: 'elicitation/create',
            result: { action: 'accept', content: { name: 'x', age: 3, sure: true } },
          },
          { method: 'elicitation/create', result: { action: 'decline' } },
        ]
      : []),
  ]
}
