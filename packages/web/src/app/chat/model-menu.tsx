import type { ConversationRow, ModelRow } from '@jackfield/host/client'
import { ChevronDown } from 'lucide-react'
import type { ReactNode } from 'react'
import { useHost, useRead } from '../data/host.tsx'
import { useFormat, useText } from '../i18n/i18n.ts'
import type { FromHost } from '../text/untrusted-text.ts'
import { Menu } from '../ui/menu.tsx'
import style from './chat.module.css'

type InfoRow = Extract<FromHost<ConversationRow>, { kind: 'info' }>

/** Prices are per million tokens. */
export function costOf(usage: InfoRow['usage'], models: readonly FromHost<ModelRow>[]): Map<string, number> {
  const costs = new Map<string, number>()
  for (const { model, inputTokens, outputTokens } of usage) {
    const { cost, currency = 'USD' } = models.find(({ id }) => id === model) ?? {}
    if (cost === undefined) continue
    const sum = (inputTokens * cost.input + outputTokens * cost.output) / 1_000_000
    costs.set(currency, (costs.get(currency) ?? 0) + sum)
  }
  return costs
}

/** A menu to choose the model, with the used context and the cost of the conversation. */
export function ModelMenu({ id, info }: { id: string; info: InfoRow }): ReactNode {
  const t = useText()
  const { compact, percent, money } = useFormat()
  const { client } = useHost()
  const models = useRead('models.list', {}).data ?? []
  const { contextTokens, contextLimit } = info
  const costs = costOf(info.usage, models)
  const isKnown = models.some((model) => model.id === info.model)
  const items = isKnown ? models : [{ id: info.model, isLanguageModel: true, contextTokens: null }, ...models]
  return (
    <>
      <Menu
        label={t('chat.modelIs', { model: info.model })}
        data-act="model"
        button={
          <>
            <bdi>{info.model}</bdi> <ChevronDown size={14} aria-hidden="true" />
          </>
        }
        items={items.map((model) => ({
          key: model.id,
          text: <bdi>{model.id}</bdi>,
          note: [
            model.contextTokens === null ? undefined : compact(model.contextTokens),
            'cost' in model && model.cost !== undefined
              ? `${money(model.cost.input, model.currency)} / ${money(model.cost.output, model.currency)}`
              : undefined,
            model.isLanguageModel ? undefined : t('model.offline'),
          ]
            .filter((part) => part !== undefined)
            .join(' · '),
          isOn: model.id === info.model,
          onChoose: () => void client.call('conversations.setModel', { id, model: model.id }),
        }))}
      />
      {contextTokens !== undefined && (
        <span className={style.meter} title={t('chat.contextMeans')}>
          {contextLimit === undefined ? (
            t('chat.context', { tokens: compact(contextTokens) })
          ) : (
            <>
              <meter
                aria-label={t('chat.contextMeans')}
                min={0}
                max={contextLimit}
                high={contextLimit * 0.8}
                value={contextTokens}
              />
              {t('chat.contextOf', {
                share: percent(contextTokens / contextLimit),
                limit: compact(contextLimit),
              })}
            </>
          )}
          {[...costs].map(([currency, sum]) => ` · ${money(sum, currency)}`)}
        </span>
      )}
    </>
  )
}
