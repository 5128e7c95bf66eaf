import type { CreateMessageParams } from '@jackfield/sdk'
import { onTestFinished } from 'vitest'
import type {
  BrokeredCall,
  HostAnswers,
  HostOptions,
  Model,
  ModelReply,
  ModelRequest,
} from '../../src/types/index.ts'
import { session, started, type Watched } from '../fixtures/hosts.ts'
import { person } from '../fixtures/people.ts'
import { type StatelessServer, statelessServer } from '../fixtures/stateless-server.ts'

export const eras = ['session', 'stateless'] as const
export type Era = (typeof eras)[number]

export const request: CreateMessageParams = {
  messages: [{ role: 'user', content: { type: 'text', text: 'What is the capital of France?' } }],
  systemPrompt: 'Be brief.',
  maxTokens: 50,
  temperature: 0.25,
  stopSequences: ['\n'],
}

/** A host with the fixture of one era as `s`, whose tools may be called. */
export async function hostIn(era: Era, options: Partial<HostOptions>): Promise<Watched> {
  return (await hostAndServer(era, options)).host
}

/** The same, with the stateless server. */
export async function hostAndServer(
  era: Era,
  options: Partial<HostOptions>,
): Promise<{ host: Watched; server: StatelessServer | undefined }> {
  const rules = [{ id: 'all', verdict: 'allow' as const }]
  if (era === 'session') {
    return { host: await started({ servers: { s: session().config }, rules, ...options }), server: undefined }
  }
  const server = await statelessServer()
  onTestFinished(() => server.stop())
  return { host: await started({ servers: { s: { url: server.url } }, rules, ...options }), server }
}

/** Calls the tool that samples. */
export function sample(
  host: Watched,
  params: object = request,
  options: { conversation?: string } = {},
): Promise<BrokeredCall> {
  return host.call('s__sample', { params }, { caller: 'cli', ...options })
}

/** A user who allows everything, with changes that a test gives. */
export function agreeing(
  answers: {
    request?: Partial<Extract<HostAnswers['sampling-request'], { verdict: 'allow' }>>
    result?: Partial<Extract<HostAnswers['sampling-result'], { verdict: 'allow' }>>
  } = {},
): ReturnType<typeof person> {
  return person({
    'sampling-request': () => ({ verdict: 'allow', ...answers.request }),
    'sampling-result': () => ({ verdict: 'allow', ...answers.result }),
  })
}

/** A model with scripted replies, the last one repeated, which records its requests. */
export function replying(
  id: string,
  ...replies: Partial<ModelReply>[]
): Model & { requests: ModelRequest[] } {
  const requests: ModelRequest[] = []
  return {
    id,
    isLanguageModel: true,
    requests,
    async generate(asked) {
      requests.push(asked)
      const reply = replies[Math.min(requests.length, replies.length) - 1]
      return { content: { type: 'text', text: 'ok' }, stopReason: 'endTurn', model: id, ...reply }
    },
  }
}
