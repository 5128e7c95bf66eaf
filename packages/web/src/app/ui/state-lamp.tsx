import type { ConnectionState } from '@jackfield/host/browser'
import {
  Circle,
  CircleDashed,
  CircleMinus,
  CircleX,
  Diamond,
  KeyRound,
  Moon,
  RotateCw,
  TriangleAlert,
} from 'lucide-react'
import type { ReactNode } from 'react'
import { useText } from '../i18n/i18n.ts'
import { Lamp } from './ui.tsx'

type State = ConnectionState['state']

const lamps = {
  ready: { tone: 'ok', Icon: Circle },
  connecting: { tone: 'info', Icon: CircleDashed },
  reconnecting: { tone: 'warn', Icon: RotateCw },
  degraded: { tone: 'warn', Icon: TriangleAlert },
  'needs-sign-in': { tone: 'warn', Icon: KeyRound },
  'needs-approval': { tone: 'warn', Icon: Diamond },
  asleep: { tone: 'off', Icon: Moon },
  failed: { tone: 'danger', Icon: CircleX },
  disabled: { tone: 'off', Icon: CircleMinus },
} as const satisfies Record<State, { tone: string; Icon: unknown }>

/** Shows the state of a server by shape, word and colour. */
export function StateLamp({ state }: { state: State }): ReactNode {
  const t = useText()
  const { tone, Icon } = lamps[state]
  return (
    <Lamp
      tone={tone}
      icon={
        <Icon
          size={16}
          strokeWidth={1.5}
          fill={state === 'ready' ? 'currentcolor' : 'none'}
          aria-hidden="true"
        />
      }
    >
      {t(`state.${state}`)}
    </Lamp>
  )
}
