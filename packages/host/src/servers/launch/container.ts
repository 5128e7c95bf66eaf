import { sensitivePath } from '../../core/trust/sensitive.ts'
import type { TrustFinding } from '../../types/index.ts'

const open: readonly { pattern: RegExp; message: string }[] = [
  { pattern: /^--privileged(?:=true)?$/, message: 'The container is privileged: it can leave its walls.' },
  {
    pattern: /^--cap-add=(?:ALL|SYS_ADMIN|SYS_PTRACE|SYS_MODULE|DAC_READ_SEARCH)$/i,
    message: 'The container gets rights that let it leave its walls.',
  },
  {
    pattern: /^--(?:pid|ipc|userns|uts|cgroupns)=host$/,
    message: 'The container shares the processes of this machine.',
  },
  {
    pattern: /^--security-opt=.*(?:unconfined|disable)/,
    message: 'The container runs without the usual protection.',
  },
]
const hostNetwork = /^--net(?:work)?=host$/
const mounting = /^(?:-v|--volume|--mount)=/
const withValue =
  /^(?:-v|-e|-p|-u|-w|-l|-h|-m|--(?:volume|mount|env|env-file|publish|user|workdir|name|label|network|net|cap-add|pid|ipc|userns|uts|security-opt|entrypoint|platform|add-host|dns|memory|cpus|hostname|pull|gpus|device|tmpfs))$/

/** What the options of `docker run` and its like let the container reach, and whether its image is a fixed one. */
export function containerFindings(args: readonly string[]): TrustFinding[] {
  const found: TrustFinding[] = []
  const add = (severity: TrustFinding['severity'], code: string, n: number, message: string): void => {
    found.push({ severity, code, at: `args[${n}]`, message })
  }
  const run = args.findIndex((arg) => arg === 'run' || arg === 'create')
  for (let n = run + 1; n < args.length; n++) {
    const arg = args[n] ?? ''
    if (!arg.startsWith('-')) {
      if (run !== -1) image(arg, n, add)
      break
    }
    const option = withValue.test(arg) ? `${arg}=${args[n + 1] ?? ''}` : arg
    const message = open.find(({ pattern }) => pattern.test(option))?.message
    if (message !== undefined) add('danger', 'container-without-walls', n, message)
    if (hostNetwork.test(option)) {
      add(
        'warning',
        'host-network',
        n,
        'The container reaches the network as this machine does, services meant for it alone included.',
      )
    }
    if (mounting.test(option)) mount(option.replace(mounting, ''), n, add)
    if (withValue.test(arg)) n++
  }
  return found
}

type Add = (severity: TrustFinding['severity'], code: string, n: number, message: string) => void

function mount(value: string, n: number, add: Add): void {
  const source =
    /(?:^|,)(?:source|src)=([^,]+)/.exec(value)?.[1] ?? value.replace(/^([A-Za-z]:)?([^:]*).*/, '$1$2')
  if (/docker\.sock|containerd\.sock|podman\.sock/.test(source)) {
    add(
      'danger',
      'container-without-walls',
      n,
      'The container can start others with any rights, as it holds the socket of the container service.',
    )
  } else if (sensitivePath(source) !== undefined) {
    add('danger', 'sensitive-path', n, `The container is given ${sensitivePath(source)}.`)
  } else if (
    /^(?:\/|~\/?|\$HOME\/?|\$\{(?:env:)?HOME\}\/?|\/(?:etc|root|home|Users|var|proc|sys|dev)(?:\/[^/]*)?\/?|[A-Za-z]:[\\/]?)$/.test(
      source,
    )
  ) {
    add('danger', 'host-mount', n, `The container is given ${source} of this machine.`)
  } else if (/^[./~$\\]|^[A-Za-z]:/.test(source)) {
    add('notice', 'host-mount', n, `The container is given ${source} of this machine.`)
  }
}

function image(name: string, n: number, add: Add): void {
  if (name.includes('@sha256:')) return
  const tag = /:([\w.-]+)$/.exec(name)?.[1]
  if (tag === undefined || tag === 'latest') {
    add(
      'warning',
      'unpinned-image',
      n,
      `${name} is whatever its publisher puts there; name a version or a digest.`,
    )
  }
}
