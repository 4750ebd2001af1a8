package queue

func childOfAKill() {}
