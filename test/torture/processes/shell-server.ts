import type { ProtocolVersion } from '@jackfield/sdk'
import type { ClientTransportFactory } from '@jackfield/sdk/client'
import { stdio } from '@jackfield/sdk/client/stdio'

/** What the server does after the client connected, or instead. */
export type Conduct =
  /** Ends before it reads anything. */
  | 'dies'
  /** Reads nothing. */
  | 'deaf'
  /** Meets the client and leaves every request open. */
  | 'open'
  /** Meets the client and reads no further. */
  | 'stalled'
  /** Writes half of the first answer. */
  | 'half'
  /** Answers each call with a hundred thousand characters, in two writes. */
  | 'answers'

// A shell starts in a hundredth of the time that Node takes, so that thousands can be started.
const script = `
echo "pid $$ $3" >&2
case $2 in
  dies) case $3 in code*) exit "\${3#code}" ;; esac; kill -KILL $$ ;;
  deaf) exec sleep 1000 ;;
esac
capabilities='{"tools":{},"resources":{"subscribe":true},"prompts":{},"completions":{},"logging":{}}'
block=xxxxxxxxxx
for _ in 1 2 3 4; do block=$block$block$block$block$block$block$block$block$block$block; done
while IFS= read -r line; do
  case $line in *'"id":'*) ;; *) continue ;; esac
  id=\${line#*'"id":'}
  id=\${id%%[,\\}]*}
  case $line in
    *'"method":"initialize"'*)
      printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"%s","capabilities":%s,"serverInfo":{"name":"shell","version":"1"}}}\\n' "$id" "$1" "$capabilities"
      met=1 ;;
    *'"method":"server/discover"'*)
      printf '{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":["%s"],"capabilities":%s,"ttlMs":0,"cacheScope":"private"}}\\n' "$id" "$1" "$capabilities"
      met=1 ;;
    *'"method":"tools/call"'*)
      printf '{"jsonrpc":"2.0","id":%s,"resu' "$id"
      case $2 in half) exec sleep 1000 ;; esac
      printf 'lt":{"resultType":"complete","content":[{"type":"text","text":"%s"}]}}\\n' "$block" ;;
  esac
  case $2$met in stalled1) exec sleep 1000 ;; open1) cat >/dev/null; exec sleep 1000 ;; esac
done
`

/**
 * A server that is a shell script. What it first writes to stderr is "pid", its process id and `words`; a server that
 * `dies` kills itself, or ends with code 7 where `words` is "code7".
 */
export function shellServer(
  version: ProtocolVersion,
  conduct: Conduct,
  words: string,
  onStderr: (text: string) => void,
): ClientTransportFactory {
  return stdio({ command: 'sh', args: ['-c', script, 'server', version, conduct, words], onStderr })
}
