import { type ReactNode, useMemo } from 'react'
import { useRead, useTopic } from '../data/host.tsx'
import { useFormat, useText } from '../i18n/i18n.ts'
import { Empty } from '../ui/ui.tsx'
import style from './chat.module.css'

/** Shown in an empty conversation: what the model is offered, and how to begin. */
export function Start({ conversation }: { conversation: string }): ReactNode {
  const t = useText()
  const { compact } = useFormat()
  const servers = useTopic('servers')
  const meter = useRead('catalog.meter', { conversation }).data
  const ready = useMemo(
    () => [...(servers?.values() ?? [])].filter(({ connection }) => connection.state === 'ready').length,
    [servers],
  )
  return (
    <div className={style.start}>
      <Empty title={t('chat.begin')}>
        {meter !== undefined && (
          <p>
            {t('chat.offered', { tools: meter.tools, servers: ready })}{' '}
            {meter.deferred
              ? t('chat.offeredBySearch')
              : t('chat.offeredTokens', { tokens: compact(meter.tokens) })}
          </p>
        )}
        <ul>
          {(['slash', 'at', 'hash', 'up'] as const).map((hint) => (
            <li key={hint}>
              <kbd>{{ slash: '/', at: '@', hash: '#', up: '↑' }[hint]}</kbd> {t(`chat.hint.${hint}`)}
            </li>
          ))}
        </ul>
      </Empty>
    </div>
  )
}
