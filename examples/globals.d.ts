/** A name of the browser's that the MCP SDK's types take for granted; Node's types give it as that of `Headers`. */
type HeadersInit = ConstructorParameters<typeof Headers>[0];
