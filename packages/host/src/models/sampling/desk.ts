import type { Activity, SamplingDesk, SamplingUsage } from '../../types/index.ts'
import { chooseModel } from './choose.ts'
import type { SamplingDeps } from './deps.ts'
import type { SamplingGrants } from './grants.ts'
import { limitsOf } from './limits.ts'
import type { Weigher } from './weigh.ts'

const dayMs = 86_400_000

/** What a face shows of sampling besides its questions. */
export function createDesk(
  deps: SamplingDeps & { grants: SamplingGrants; weigh: Weigher },
): Omit<SamplingDesk, 'setModel'> {
  const { models, settings, table, grants, weigh, now, recorder } = deps
  const choose: SamplingDesk['rank'] = (preferences) =>
    chooseModel(models, preferences, { facts: settings.models ?? [] })

  function usageOf(server: string): SamplingUsage {
    const tally = table.tally(server, now())
    return {
      server,
      limits: limitsOf(server, settings),
      requests: tally.requests,
      requestsToday: tally.requestsToday,
      tokens: tally.tokens,
      autoTokens: tally.autoTokens,
      cost: tally.cost,
      ...(tally.last !== undefined && { last: new Date(tally.last).toISOString() }),
    }
  }

  return {
    usage() {
      const named = [
        ...table.servers(now() - dayMs),
        ...Object.keys(settings.servers ?? {}),
        ...grants.list().map(({ server }) => server),
      ]
      return [...new Set(named)].sort().map(usageOf)
    },
    grants: () => grants.list(),
    revoke(id) {
      const grant = grants.remove(id)
      if (grant === undefined) return false
      const { server, stage } = grant
      const what = stage === 'request' ? 'asks models' : 'is told by models'
      const kind: Activity['kind'] = 'sampling'
      const summary = `What ${server} ${what} is looked at again`
      recorder.note({ kind, server, summary, detail: { ...grant } }, 'revoked')
      return true
    },
    rank: choose,
    preview: (params) => weigh(params, choose(params.modelPreferences ?? {}).model),
  }
}
