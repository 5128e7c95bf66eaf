import type { Scene } from '../studio.ts'

/** Servers in every state, what is found among them, where settings come from, and what is wrong with one. */
export const finding: Scene = {
  pictures: ['servers', 'search', 'config-explain', 'doctor'],
  async record(studio) {
    const { travel, files } = studio.servers
    studio.configure({ mcpServers: { travel, files: { ...files, roots: false } } })
    await studio.shows('search', 'Tools found by what they do', "jackfield search 'find a flight' --limit 4")
    studio.configure({
      mcpServers: {
        travel,
        files: { ...files, roots: false },
        calendar: { command: 'calendar-mcp', args: ['--year', '2027'] },
        cloud: { url: 'https://mcp.example.org/travel', disabled: true },
        // biome-ignore lint/suspicious/noTemplateCurlyInString: the host looks the secret up
        work: { extends: 'cloud', headers: { Authorization: 'Bearer ${secret:work}' } },
      },
    })
    await studio.shows('servers', 'The servers and how they stand', 'jackfield servers')
    await studio.shows(
      'config-explain',
      'Where every setting of a server comes from',
      ['jackfield config', 'jackfield config explain work'],
      { cols: 130 },
    )
    await studio.shows('doctor', 'A server that does not run, step by step', [
      'jackfield doctor calendar',
      'jackfield doctor http://127.0.0.1:9/mcp',
    ])
  },
}
