import { webApp } from '../../../../programs/app.ts'

const { fetch } = webApp('/api')

export { fetch as DELETE, fetch as GET, fetch as OPTIONS, fetch as POST, fetch as PUT }
