import type { Scene } from '../studio.ts'

/** A server that samples: the model, the request, and the part of the response that the server receives. */
export const sampling: Scene = {
  pictures: ['rank', 'sampling-request', 'sampling-result', 'sampling'],
  async record(studio) {
    const { guide } = studio.servers
    const price = (input: number, output: number) => ({ cost: { input, output }, currency: 'USD' })
    studio.configure({
      mcpServers: { guide },
      jackfield: {
        models: [
          { id: 'anthropic/claude-sonnet-5-5', ...price(3, 15), speed: 0.6, intelligence: 0.9 },
          { id: 'ollama/qwen3', ...price(0, 0), speed: 0.4, intelligence: 0.6 },
          'offline',
        ],
      },
    })
    // Ranking asks no model, so no key has to be a real one.
    const env = { ANTHROPIC_API_KEY: 'none', OLLAMA_HOST: 'http://127.0.0.1:9' }
    await studio.shows(
      'rank',
      'Which model a request would go to, and why',
      [
        'jackfield sampling rank --hint qwen --cost 0.2 --intelligence 0.8',
        'jackfield sampling rank --cost 0.2 --intelligence 0.8',
      ],
      { env },
    )

    const say = 'Go in June: the sea is warm, the nights are mild, and most people come later.'
    const usage = { inputTokens: 61, outputTokens: 19 }
    studio.write('trip/local.json', { contextTokens: 32_000, turns: [{ say, usage }] })
    const local = { id: 'script:local.json', ...price(0.5, 1.5), speed: 0.6, intelligence: 0.8 }
    const limits = { requestsPerMinute: 5, tokensPerDay: 50_000, autoTokensPerDay: 20_000 }
    studio.configure({
      mcpServers: { guide },
      jackfield: { models: [local], sampling: { limits, redact: [{ builtin: 'email' }] } },
    })
    await using shell = studio.shell()
    await shell.enter('jackfield call guide advise')
    await shell.until('Send this to the model?')
    await shell.settled()
    studio.capture('sampling-request', 'First look: what your model would be asked', shell)
    await shell.choose('Send')
    await shell.until('the server')
    await shell.until('warm')
    await shell.settled()
    studio.capture('sampling-result', 'Second look: what the server would be told', shell)
    shell.type('n')
    await shell.over()
    await studio.shows('sampling', 'What servers used of your models', 'jackfield sampling')
  },
}
