import type { Scene } from '../studio.ts'

const port = 8975

/** All servers as one for another application, whose calls are asked about here. */
export const gateway: Scene = {
  pictures: ['gateway'],
  async record(studio) {
    const { travel, files } = studio.servers
    studio.configure({
      mcpServers: { travel, files: { ...files, roots: false } },
      jackfield: { rules: [{ id: 'writing', verdict: 'ask', server: 'files', tool: 'write_*' }] },
    })
    const token = 'the-token-of-an-editor'
    const users = studio.write('users.json', { editor: token })
    const client = studio.write('editor.json', {
      mcpServers: {
        mine: { url: `http://127.0.0.1:${port}/mcp`, headers: { Authorization: `Bearer ${token}` } },
      },
      jackfield: { rules: [{ verdict: 'allow', server: '*' }] },
    })
    await using shell = studio.shell()
    await shell.enter(`jackfield gateway --http 127.0.0.1:${port} --users ${users}`)
    await shell.until('listens at')
    await using editor = studio.shell()
    await editor.enter(
      `jackfield call mine files__write_file path=${studio.work}/plan.md content='Seven days by the sea' --config ${client} --store editor.db`,
    )
    await shell.until('Allow this call?')
    await shell.settled()
    studio.capture('gateway', 'Another application calls a tool, and you are asked', shell)
  },
}
