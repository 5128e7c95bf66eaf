import type { Adapter, AdapterFactory, AdapterPayload } from 'oidc-provider'

interface Row {
  payload: AdapterPayload
  readonly until: number
}

/** Keeps what one authorization server knows in memory, apart from every other one in the process. */
export function memoryAdapter(): AdapterFactory {
  const rows = new Map<string, Row>()
  const find = (key: string): AdapterPayload | undefined => {
    const row = rows.get(key)
    return row === undefined || row.until < Date.now() ? undefined : row.payload
  }
  const findBy = (kind: string, member: 'uid' | 'userCode', value: string): AdapterPayload | undefined => {
    const keys = [...rows.keys()].filter((key) => key.startsWith(`${kind}:`))
    return keys.map(find).find((payload) => payload?.[member] === value)
  }
  return (kind: string): Adapter => ({
    upsert: async (id, payload, expiresIn) => {
      const until = expiresIn === undefined ? Number.POSITIVE_INFINITY : Date.now() + expiresIn * 1000
      rows.set(`${kind}:${id}`, { payload, until })
    },
    find: async (id) => find(`${kind}:${id}`),
    findByUid: async (uid) => findBy(kind, 'uid', uid),
    findByUserCode: async (userCode) => findBy(kind, 'userCode', userCode),
    consume: async (id) => {
      const row = rows.get(`${kind}:${id}`)
      if (row !== undefined) row.payload = { ...row.payload, consumed: Math.floor(Date.now() / 1000) }
    },
    destroy: async (id) => {
      rows.delete(`${kind}:${id}`)
    },
    revokeByGrantId: async (grantId) => {
      for (const [key, { payload }] of rows) if (payload.grantId === grantId) rows.delete(key)
    },
  })
}
