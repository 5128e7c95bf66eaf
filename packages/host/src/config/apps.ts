import { join } from 'node:path'
import type { ConfigEnvironment } from './variables.ts'

/** Where other applications keep the servers of the person, on every system they run on. */
export function appFiles(env: ConfigEnvironment, home: string): { app: string; file: string }[] {
  const config = env['XDG_CONFIG_HOME'] || join(home, '.config')
  const data = [
    config,
    join(home, 'Library', 'Application Support'),
    env['APPDATA'] || join(home, 'AppData', 'Roaming'),
  ]
  const inData = (app: string, ...parts: string[]): { app: string; file: string }[] =>
    data.map((folder) => ({ app, file: join(folder, ...parts) }))
  const inHome = (app: string, ...parts: string[]): { app: string; file: string } => ({
    app,
    file: join(home, ...parts),
  })
  const codeStorage = ['Code', 'User', 'globalStorage']
  return [
    ...inData('Claude Desktop', 'Claude', 'claude_desktop_config.json'),
    inHome('Claude Code', '.claude.json'),
    ...inData('VS Code', 'Code', 'User', 'mcp.json'),
    inHome('Cursor', '.cursor', 'mcp.json'),
    inHome('Windsurf', '.codeium', 'windsurf', 'mcp_config.json'),
    ...inData('Cline', ...codeStorage, 'saoudrizwan.claude-dev', 'settings', 'cline_mcp_settings.json'),
    ...inData('Roo Code', ...codeStorage, 'rooveterinaryinc.roo-cline', 'settings', 'mcp_settings.json'),
    inHome('Gemini CLI', '.gemini', 'settings.json'),
    inHome('Codex', '.codex', 'config.toml'),
    { app: 'Goose', file: join(config, 'goose', 'config.yaml') },
    { app: 'Zed', file: join(config, 'zed', 'settings.json') },
    { app: 'OpenCode', file: join(config, 'opencode', 'opencode.json') },
    inHome('Copilot CLI', '.copilot', 'mcp-config.json'),
    inHome('LM Studio', '.lmstudio', 'mcp.json'),
  ]
}
