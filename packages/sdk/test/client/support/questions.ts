/** The least a server may ask, by method. */
export const questions: Readonly<Record<string, object>> = {
  'roots/list': {},
  'sampling/createMessage': { messages: [], maxTokens: 1 },
  'elicitation/create': { message: 'Please', requestedSchema: { type: 'object', properties: {} } },
}
