import { spawn } from 'node:child_process'
import { McpError } from '../../../jsonrpc/error.ts'
import { withoutInheritedDescriptors } from '../../../links/inherited-descriptors.ts'
import { isLoopback } from '../address.ts'

const openers: Partial<Record<NodeJS.Platform, readonly [command: string, ...args: string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

/**
 * Opens a page in the person's browser; no shell takes part. Resolves once the browser was handed the URL.
 * @throws McpError 'INVALID' for anything but an https: URL, or an http: one on this machine
 * @throws McpError 'CONNECT_FAILED' where no browser can be started
 */
export async function openBrowser(url: URL): Promise<void> {
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback(url))) {
    throw new McpError('INVALID', `Only https: pages are opened in the browser, and not ${url.protocol} ones`)
  }
  const [command, ...args] = openers[process.platform] ?? ['xdg-open']
  const failed = (cause: unknown): McpError =>
    new McpError('CONNECT_FAILED', `No browser could be opened: ${command} failed`, { cause })
  await new Promise<void>((resolve, reject) => {
    const child = withoutInheritedDescriptors(['ignore', 'ignore', 'ignore'], (stdio) =>
      spawn(command, [...args, url.href], { detached: true, stdio, shell: false, windowsHide: true }),
    )
    child.once('error', reject)
    child.once('spawn', () => {
      child.unref()
      resolve()
    })
  }).catch((cause: unknown) => Promise.reject(failed(cause)))
}
