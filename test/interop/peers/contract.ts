import process from 'node:process'

/** One red pixel as PNG. */
export const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='

/** An empty sound as WAV. */
export const wav = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA='

/** A text, an image and an embedded resource, as content blocks. */
export const text = { type: 'text' as const, text: 'Plain text.' }
export const image = { type: 'image' as const, data: png, mimeType: 'image/png' }
const audio = { type: 'audio' as const, data: wav, mimeType: 'audio/wav' }
export const embedded = {
  type: 'resource' as const,
  resource: { uri: 'fixture://inside', mimeType: 'text/markdown', text: '# Inside' },
}
const embeddedBytes = {
  type: 'resource' as const,
  resource: { uri: 'fixture://pixel', mimeType: 'image/png', blob: png },
}
const link = {
  type: 'resource_link' as const,
  uri: 'fixture://text',
  name: 'text',
  mimeType: 'text/plain',
}

/** Tools that answer always the same: what each is about, and its content. */
export const contents = {
  text: { kind: 'text', content: [text] },
  image: { kind: 'an image', content: [image] },
  audio: { kind: 'sound', content: [audio] },
  embedded: { kind: 'an embedded text', content: [embedded] },
  embedded_bytes: { kind: 'embedded bytes', content: [embeddedBytes] },
  link: { kind: 'a link to a resource', content: [link] },
  mixed: { kind: 'text, an image and a resource in one result', content: [text, image, embedded] },
  empty: { kind: 'a result without content', content: [] },
  annotated: {
    kind: 'content with annotations',
    content: [{ ...text, annotations: { audience: ['user' as const], priority: 0.5 } }],
  },
}

export const weather = { city: 'Bergen', degrees: 11.5, tags: ['rain', 'wind'] }
export const failure = 'The kettle is empty.'
export const instructions = 'Everything here exists to be called.'
export const resultMeta = { 'example.org/answer': { by: 'the fixture' } }
export const signInUrl = 'https://example.org/sign-in'
export const signInId = 'sign-in-1'

export const notes: Record<string, string> = {
  'fixture://text': 'Plain contents, mit Umläuten.',
  'fixture://watched': 'Watched contents.',
}

export const languages = ['English', 'Esperanto', 'Norsk']
export const towns: Record<string, string[]> = { Norsk: ['Bergen', 'Bodø'], English: ['Bath', 'Bristol'] }

/** What a completer offers: everything that begins as typed. */
export const startingWith = (options: readonly string[], value: string): string[] =>
  options.filter((option) => option.toLowerCase().startsWith(value.toLowerCase()))

export const logged = [
  { level: 'debug' as const, data: 'fine grain' },
  { level: 'info' as const, data: { step: 1, of: ['two'] }, logger: 'kettle' },
  { level: 'warning' as const, data: 'hot' },
  { level: 'error' as const, data: 'boils over' },
]

export const nameForm = {
  type: 'object' as const,
  properties: { name: { type: 'string' as const, title: 'Your name', minLength: 1 } },
  required: ['name'],
}

export const colorForm = {
  type: 'object' as const,
  properties: { color: { type: 'string' as const } },
  required: ['color'],
}

export const choicesForm = {
  type: 'object' as const,
  properties: {
    name: { type: 'string' as const, default: 'Ada' },
    email: { type: 'string' as const, format: 'email' as const },
    cups: { type: 'integer' as const, minimum: 1, maximum: 9, default: 2 },
    strength: { type: 'number' as const, default: 0.5 },
    milk: { type: 'boolean' as const, default: true },
    tea: { type: 'string' as const, enum: ['black', 'green'] },
    leaf: {
      type: 'string' as const,
      oneOf: [
        { const: 'a', title: 'Assam' },
        { const: 'd', title: 'Darjeeling' },
      ],
    },
    with: { type: 'array' as const, items: { type: 'string' as const, enum: ['sugar', 'lemon', 'honey'] } },
    biscuits: {
      type: 'array' as const,
      items: {
        anyOf: [
          { const: 's', title: 'Shortbread' },
          { const: 'g', title: 'Ginger' },
        ],
      },
    },
  },
  required: ['tea'],
}

export const modelRequest = {
  messages: [{ role: 'user' as const, content: { type: 'text' as const, text: 'Which tea?' } }],
  systemPrompt: 'You are a teapot.',
  maxTokens: 50,
  temperature: 0.25,
  stopSequences: ['\n\n'],
  modelPreferences: { hints: [{ name: 'small' }], costPriority: 0.75 },
}

export const modelTool = {
  name: 'brew',
  description: 'Makes tea',
  inputSchema: { type: 'object' as const, properties: { cups: { type: 'number' as const } } },
}

const states = new Map<string, 'started' | 'stopped'>()

/** Waits until the caller cancels the call; `stateOf` returns its state. */
export async function waitFor(key: string, signal: AbortSignal): Promise<void> {
  states.set(key, 'started')
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
  states.set(key, 'stopped')
}

export const stateOf = (key: string): string => states.get(key) ?? 'unknown'

export const later = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Ends this process soon, when whatever is on its way has left. */
export function exitSoon(): Promise<never> {
  return new Promise(() => setTimeout(() => process.exit(0), 10))
}

/** Prints the URL of this server for the tests. */
export function announce(url: string): void {
  process.stdout.write(`${JSON.stringify({ url })}\n`)
}
