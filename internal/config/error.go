package config

// SettingError is one thing wrong with the configuration. Load joins as many
// of them as it finds; errors.As yields the first.
type SettingError struct {
	// Key is the setting's path, such as "source.maxWait", or the unknown
	// key or variable as the user wrote it. It is "" for a whole file.
	Key string
	// Origin says where the value came from: "flag --log-level",
	// "variable WEBSERVICE_CONTROLLER_LOG_LEVEL", "config.yaml:12" or "default".
	Origin string
	// Message says what is wrong and what to write instead.
	Message string
}

// Error is one sentence with key, origin and message.
func (e *SettingError) Error() string {
	if e.Key == "" {
		return e.Origin + ": " + e.Message
	}
	return e.Key + " (" + e.Origin + "): " + e.Message
}
